import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sha256Hex } from '../../../../packages/canonical/ids.ts';
import { MAX_RECORD_BYTES, recordBytes } from '../../../../packages/log/limits.ts';
import type { OutgoingRecord } from '../../../../packages/log/port.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import {
  createDeadLetters,
  type FailedMessage,
  MAX_LETTER_VALUE_BYTES,
} from '../../../../packages/records/dead-letters/dead-letters.ts';
import { parseRecord } from '../../../../packages/records/parse/parse-record.ts';
import { createPublisher } from '../../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../../packages/records/trust/signer.ts';
import type { DeadLetter } from '../../../../schemas/events/dead-letter.ts';
import { anyText } from '../../../fixtures/any-text.ts';
import { logLines, parsedLines } from '../../../support/log-lines.ts';
import { countedIds, NOW_MS, onLog, TRACEPARENT } from '../../../support/logs/log-record.ts';
import { ScriptedLog } from '../../../support/logs/scripted-log.ts';

function setUp() {
  const log = new ScriptedLog();
  const metrics = createMetrics();
  const out = logLines();
  const clock = { nowMs: 0 };
  const now = () => clock.nowMs;
  const publisher = createPublisher({
    signer: UNSIGNED,
    log,
    source: '/fleetgc/test',
    now: () => NOW_MS,
    ids: countedIds(),
  });
  const logger = createLogger({ service: 'test', level: 'info' }, out);
  const deadLetters = createDeadLetters({ publisher, group: 'group-1', metrics, logger, now });
  const letters = (): readonly DeadLetter[] => log.published.flat().map(letterOf);
  return { log, metrics, out, clock, deadLetters, letters };
}

function letterOf(record: OutgoingRecord): DeadLetter {
  const parsed = parseRecord('deadLetters', onLog(record));
  if (!parsed.ok || parsed.event.type !== 'fleetgc.dead-letter') throw new Error('not a dead letter');
  return parsed.event;
}

const failed = (over: Partial<FailedMessage['record']> = {}): FailedMessage => ({
  cause: 'not-json',
  message: 'the value is not JSON',
  record: {
    topic: 'gc.node.inventory',
    partition: 3,
    offset: 2n ** 60n,
    key: 'prod/web-1',
    value: Buffer.from([0, 255, 1]),
    headers: { ce_id: 'x', traceparent: TRACEPARENT },
    timestampMs: NOW_MS,
    ...over,
  },
});

const tooLarge = () => new FleetGcError('LOG_RECORD_TOO_LARGE', 'too large');

test('a dead letter holds the message whole, its position and the cause', async () => {
  const { log, deadLetters, letters } = setUp();
  await deadLetters.write([failed()]);
  expect(letters()).toEqual([
    {
      type: 'fleetgc.dead-letter',
      version: 1,
      id: expect.stringMatching(/^dead-letter-[0-9a-f]{32}$/),
      cause: 'not-json',
      message: 'the value is not JSON',
      group: 'group-1',
      topic: 'gc.node.inventory',
      partition: 3,
      offset: '1152921504606846976',
      timestampMs: NOW_MS,
      key: Buffer.from('prod/web-1').toString('base64'),
      value: 'AP8B',
      headers: { ce_id: 'x', traceparent: TRACEPARENT },
      omittedBytes: 0,
      suppressedBefore: 0,
    },
  ]);
  expect(log.published.flat()).toMatchObject([
    {
      key: 'prod/web-1',
      headers: { traceparent: expect.stringMatching(/^00-0af7651916cd43dd8448eb211c80319c-/) },
    },
  ]);
});

test('its id follows from the position, so that a repetition is known as one', async () => {
  const { deadLetters, letters } = setUp();
  await deadLetters.write([failed()]);
  await deadLetters.write([failed(), failed({ offset: 1n })]);
  const [first, again, other] = letters();
  expect(again?.id).toBe(first?.id);
  expect(other?.id).not.toBe(first?.id);
});

test('the letters of a slice are one publish', async () => {
  const { log, deadLetters } = setUp();
  await deadLetters.write([failed({ offset: 1n }), failed({ offset: 2n, key: null, value: null })]);
  expect(log.published).toHaveLength(1);
  expect(log.published[0]).toMatchObject([{ key: 'prod/web-1' }, { key: '' }]);
});

test('nothing failed, nothing is published', async () => {
  const { log, deadLetters } = setUp();
  await deadLetters.write([]);
  expect(log.published).toEqual([]);
});

test('beyond ten a minute of one key the last of each slice is kept without its value, and stands for those before it', async () => {
  const { metrics, clock, deadLetters, letters } = setUp();
  const many = Array.from({ length: 13 }, (_, index) => failed({ offset: BigInt(index) }));
  await deadLetters.write([...many, failed({ key: 'prod/web-2' })]);
  expect(letters().map(({ offset, suppressedBefore }) => [offset, suppressedBefore])).toEqual([
    ...Array.from({ length: 10 }, (_, index) => [`${index}`, 0]),
    ['12', 2],
    [`${2n ** 60n}`, 0],
  ]);
  expect(letters()[10]).toMatchObject({ value: null, omittedBytes: 3 });
  await deadLetters.write([failed({ offset: 13n })]);
  expect(letters().at(-1)).toMatchObject({ offset: '13', suppressedBefore: 0, value: null, omittedBytes: 3 });
  clock.nowMs = 60_000;
  await deadLetters.write([failed()]);
  expect(letters().at(-1)).toMatchObject({ suppressedBefore: 0, value: 'AP8B' });
  const text = await metrics.text();
  expect(text).toContain('fleetgc_dead_letters_total{cause="not-json"} 14');
  expect(text).toContain('fleetgc_dead_letters_suppressed_total{cause="not-json"} 2');
});

test('whenever the process ends, the letters on the log stand for every message that was given up', async () => {
  const slices = fc.array(
    fc.array(fc.constantFrom('prod/web-1', 'prod/web-2', null), { minLength: 1, maxLength: 30 }),
    { maxLength: 6 },
  );
  await fc.assert(
    fc.asyncProperty(slices, async (keys) => {
      const { deadLetters, letters } = setUp();
      const of = (letter: DeadLetter, key: string | null): boolean =>
        letter.key === (key === null ? null : Buffer.from(key).toString('base64'));
      let given = 0;
      for (const [at, slice] of keys.entries()) {
        await deadLetters.write(slice.map((key, i) => failed({ key, offset: BigInt(100 * at + i) })));
        given += slice.length;
        const counted = letters().reduce((sum, { suppressedBefore }) => sum + 1 + suppressedBefore, 0);
        expect(counted).toBe(given);
      }
      for (const key of ['prod/web-1', 'prod/web-2', null]) {
        const stand = letters()
          .filter((letter) => of(letter, key))
          .reduce((sum, { suppressedBefore }) => sum + 1 + suppressedBefore, 0);
        expect(stand).toBe(keys.flat().filter((each) => each === key).length);
      }
    }),
  );
});

test('the logger writes a line for each one that is kept whole, with the stack when a handler failed', async () => {
  const { out, deadLetters } = setUp();
  const error = new FleetGcError('INTERNAL', 'broken', { cause: new TypeError('broken') });
  await deadLetters.write([
    ...Array.from({ length: 12 }, () => failed()),
    { ...failed({ key: 'k' }), cause: 'handler-failed', message: 'broken', error },
  ]);
  const lines = parsedLines(out.lines);
  expect(lines).toHaveLength(11);
  expect(lines[0]).toMatchObject({
    level: 'warn',
    topic: 'gc.node.inventory',
    partition: 3,
    cause: 'not-json',
  });
  expect(lines.at(-1)).toMatchObject({
    level: 'error',
    err: { type: 'TypeError', stack: expect.any(String) },
  });
});

test('what could not be written rejects, and takes no place', async () => {
  const { log, deadLetters, letters } = setUp();
  const many = Array.from({ length: 12 }, () => failed());
  log.beforePublish = () => {
    throw new FleetGcError('LOG_UNREACHABLE', 'no broker answers');
  };
  await expect(deadLetters.write(many)).rejects.toMatchObject({ code: 'LOG_UNREACHABLE' });
  log.beforePublish = () => undefined;
  await deadLetters.write(many);
  expect(letters().filter(({ value }) => value !== null)).toHaveLength(10);
});

test('a message that is too large to be wrapped keeps all but its value', async () => {
  const { log, deadLetters, letters } = setUp();
  log.beforePublish = (records) => {
    if (records.some(({ value }) => (value?.length ?? 0) > 5_000)) throw tooLarge();
  };
  await deadLetters.write([failed({ value: Buffer.alloc(6_000) }), failed({ offset: 1n })]);
  expect(letters()).toMatchObject([
    { value: null, omittedBytes: 6_000, cause: 'not-json' },
    { value: 'AP8B', omittedBytes: 0 },
  ]);
});

const boundedLog = (log: ScriptedLog): void => {
  log.beforePublish = (records) => {
    if (records.some((record) => recordBytes(record) > MAX_RECORD_BYTES)) throw tooLarge();
  };
};

test('a key of a third of a record is kept whole', async () => {
  const { log, deadLetters, letters } = setUp();
  boundedLog(log);
  const key = 'k'.repeat(1_500_000);
  await deadLetters.write([failed({ key })]);
  expect(letters()).toMatchObject([{ key: Buffer.from(key).toString('base64'), value: 'AP8B' }]);
});

test('a message whose key is too large to be wrapped is given up with a hash of its key', async () => {
  const { log, deadLetters, letters } = setUp();
  boundedLog(log);
  const key = 'k'.repeat(1_900_000);
  await deadLetters.write([
    failed({ key }),
    failed({ key, value: null, offset: 1n }),
    failed({ offset: 2n }),
  ]);
  const cut = {
    key: Buffer.from(`sha256:${sha256Hex(key)}`).toString('base64'),
    message: expect.stringContaining(`key (1900000 bytes, sha256 ${sha256Hex(key)})`),
    headers: {},
    value: null,
    topic: 'gc.node.inventory',
    partition: 3,
  };
  expect(letters()).toMatchObject([
    { ...cut, offset: `${2n ** 60n}`, omittedBytes: 3 },
    { ...cut, offset: '1', omittedBytes: 0 },
    { key: Buffer.from('prod/web-1').toString('base64'), value: 'AP8B', offset: '2' },
  ]);
});

test('a long key is logged, and limits letters, by its hash', async () => {
  const { deadLetters, letters, out } = setUp();
  const key = 'k'.repeat(100_000);
  await deadLetters.write(Array.from({ length: 12 }, (_, i) => failed({ key, offset: BigInt(i) })));
  expect(letters()).toHaveLength(11);
  const logged = parsedLines(out.lines);
  expect(logged).toHaveLength(10);
  for (const line of logged) expect(line).toMatchObject({ key: `sha256:${sha256Hex(key)}` });
});

test('a message whose headers are too large to be wrapped is given up without them', async () => {
  const { log, deadLetters, letters } = setUp();
  boundedLog(log);
  await deadLetters.write([failed({ headers: { large: '\n'.repeat(3_000_000) } })]);
  expect(letters()).toMatchObject([
    { key: Buffer.from('prod/web-1').toString('base64'), headers: {}, value: null, omittedBytes: 3 },
  ]);
  expect(letters()[0]?.message).toMatch(
    /^the value is not JSON\. Too large to be kept here: headers \(\d+ bytes, sha256 [0-9a-f]{64}\)$/,
  );
});

test('a large value is not kept a second time, however small it is compressed', async () => {
  const { deadLetters, letters } = setUp();
  await deadLetters.write([
    failed({ value: Buffer.alloc(MAX_LETTER_VALUE_BYTES + 1) }),
    failed({ value: Buffer.alloc(MAX_LETTER_VALUE_BYTES), offset: 1n }),
  ]);
  expect(letters()).toMatchObject([
    { value: null, omittedBytes: MAX_LETTER_VALUE_BYTES + 1 },
    { value: Buffer.alloc(MAX_LETTER_VALUE_BYTES).toString('base64'), omittedBytes: 0 },
  ]);
});

test('whatever came is what is kept', async () => {
  const bytes = fc.uint8Array({ maxLength: 100 }).map((array) => Buffer.from(array));
  const arbitrary = fc.record({
    key: fc.option(anyText),
    value: fc.option(bytes),
    // A header called __proto__ is lost in kafkajs already, which keeps headers as properties of an object.
    headers: fc.dictionary(
      fc.string().filter((name) => name !== '__proto__'),
      fc.string(),
    ),
  });
  await fc.assert(
    fc.asyncProperty(arbitrary, async (message) => {
      const { deadLetters, letters } = setUp();
      await deadLetters.write([failed(message)]);
      const [letter] = letters();
      const original = (text: string | null | undefined) =>
        text == null ? null : Buffer.from(text, 'base64');
      expect(original(letter?.value)).toEqual(message.value);
      expect(original(letter?.key)).toEqual(message.key === null ? null : Buffer.from(message.key));
      expect(letter?.headers).toEqual({ ...message.headers });
    }),
  );
});

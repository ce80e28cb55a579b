import { describe, expect, test } from 'vitest';
import type { RecordedDecision } from '../../../../packages/audit/events/recorded-decision.ts';
import { Inputs, whyImpossible } from '../../../../packages/audit/verify/inputs.ts';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import type { LogRecord, ReadEvent, ReadRequest } from '../../../../packages/log/port.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { MINUTE } from '../../../fixtures/time.ts';
import { recordOf } from '../../../support/logs/log-record.ts';
import { logOf } from '../support/archives.ts';
import { decisionOn, look } from './decision-support.ts';

const TOPIC = TOPICS.diskStats.name;
const running = new AbortController().signal;
const message = (offset: number): LogRecord =>
  recordOf(nodeOutput('diskStats', diskStats({}, { id: `stats-${offset}` })), { offset: BigInt(offset) });
const at = (offset: number | string, over = {}) => ({
  topic: TOPIC,
  partition: 0,
  offset: `${offset}`,
  ...over,
});
const BYTES = message(10).value?.length ?? 0;

/** A log that holds the messages from 10 to 19, or to before another end, and tells how often it was read. */
function tenMessages(end = 20) {
  const requests: ReadRequest[] = [];
  const read = async function* (request: ReadRequest): AsyncGenerator<ReadEvent, void> {
    requests.push(request);
    const from =
      typeof request.from === 'object' && 'offset' in request.from ? Number(request.from.offset) : 0;
    for (let offset = Math.max(10, from); offset < end; offset++)
      yield { kind: 'record', record: message(offset) };
    yield { kind: 'caught-up' };
  };
  return { log: { read }, requests };
}

test('what came by is at hand, up to so many bytes; older ones are read once more', async () => {
  const { log, requests } = tenMessages();
  const inputs = new Inputs(log, 0, { signal: running, keptBytes: 3 * BYTES });
  const records = [10, 11, 12, 13, 14].map(message);
  for (const record of records) inputs.keep(record);

  for (const offset of [12, 13, 14]) expect(await inputs.find(at(offset))).toBe(records[offset - 10]);
  expect(requests).toEqual([]);
  expect(await inputs.find(at(11))).toEqual(message(11));
  expect(requests).not.toEqual([]);
});

test('messages that are looked up in their order are read in one go', async () => {
  const { log, requests } = tenMessages();
  const inputs = new Inputs(log, 0, { signal: running });
  for (const offset of [11, 12, 15, 19]) expect(await inputs.find(at(offset))).toEqual(message(offset));

  // The oldest one is asked for before.
  expect(requests.map(({ from }) => from)).toEqual(['earliest', { offset: 11n }]);
  await inputs.close();
});

test('of two that are asked for in turn, one behind the other, what lies between is read once', async () => {
  const { log, requests } = tenMessages();
  const inputs = new Inputs(log, 0, { signal: running });
  for (const offset of [11, 17, 12, 17, 13, 17])
    expect(await inputs.find(at(offset))).toEqual(message(offset));

  expect(requests.map(({ from }) => from)).toEqual(['earliest', { offset: 11n }]);
  await inputs.close();
});

test('messages and newer ones that lie far behind them are each read in one go', async () => {
  const { log, requests } = tenMessages(1250);
  const inputs = new Inputs(log, 0, { signal: running });
  for (const offset of [10, 1200, 11, 1201, 100, 1240])
    expect(await inputs.find(at(offset))).toEqual(message(offset));

  expect(requests.map(({ from }) => from)).toEqual(['earliest', { offset: 10n }, { offset: 1200n }]);
  await inputs.close();
});

test('whether anything lies behind a place is told, though nothing lies there', async () => {
  const { log } = tenMessages();
  const inputs = new Inputs(log, 0, { signal: running });

  expect(await inputs.hasLater(at(18))).toBe(true);
  expect(await inputs.hasLater(at(19))).toBe(false);
});

test.each([
  { name: 'before the oldest one', input: at(9) },
  { name: 'behind the newest one', input: at(20) },
  { name: 'in another partition', input: at(12, { partition: 1 }) },
  { name: 'on a topic that nobody decides on', input: at(12, { topic: TOPICS.commands.name }) },
  { name: 'at what is no offset', input: at('1e1') },
])('there is no message $name', async ({ input }) => {
  expect(await new Inputs(tenMessages().log, 0, { signal: running }).find(input)).toBeNull();
});

test('what is behind, and since when there is anything, is not known of topics that nobody decides on', async () => {
  const { log, requests } = tenMessages();
  const inputs = new Inputs(log, 0, { signal: running });
  const elsewhere = at(12, { topic: TOPICS.commands.name });

  expect(await inputs.isPastEnd(elsewhere)).toBe(false);
  expect(await inputs.hasLater(elsewhere)).toBe(false);
  expect(await inputs.beganAfter(elsewhere.topic, 0)).toBe(false);
  expect(await inputs.hasSince(elsewhere.topic, 0)).toBe(false);
  expect(requests).toEqual([]);
});

test('a place is past the end where older messages are there, and none behind it', async () => {
  const inputs = new Inputs(tenMessages().log, 0, { signal: running });
  expect(await Promise.all([9, 19, 20].map((offset) => inputs.isPastEnd(at(offset))))).toEqual([
    false,
    true,
    true,
  ]);
});

test('a topic began after a time where its very first message was logged later', async () => {
  const first = (offset: bigint) => ({ ...message(0), offset, timestampMs: 1_000 });
  const began = (offset: bigint, timestampMs: number) =>
    new Inputs(logOf([first(offset)]), 0, { signal: running }).beganAfter(TOPIC, timestampMs);
  expect(await began(0n, 999)).toBe(true);
  expect(await began(0n, 1_000)).toBe(false);
  expect(await began(1n, 999)).toBe(false);
});

test('readings that go on end with it', async () => {
  let open = 0;
  const { log } = tenMessages();
  const read = async function* (request: ReadRequest): AsyncGenerator<ReadEvent, void> {
    open += 1;
    try {
      yield* log.read(request);
    } finally {
      open -= 1;
    }
  };
  const inputs = new Inputs({ read }, 0, { signal: running });
  await inputs.find(at(12));
  expect(open).toBe(1);
  await inputs.close();
  expect(open).toBe(0);
});

test('a message is parsed once while it is at hand: several small ones, and of large ones the last two', () => {
  const textOf = (length: number): LogRecord => ({
    ...message(10),
    value: Buffer.from(JSON.stringify('x'.repeat(length - 2))),
  });
  /** The newest first, since whoever asks for one that is gone puts it in the place of another. */
  const arePresent = (records: readonly LogRecord[]): boolean[] => {
    const inputs = new Inputs(tenMessages().log, 0, { signal: running });
    const first = new Map(records.map((record) => [record, inputs.messageOf(record)]));
    return records.toReversed().map((record) => inputs.messageOf(record) === first.get(record));
  };
  const empty = { ...message(10), value: null };
  expect(arePresent([1, 2, 3, 4].map(() => textOf(1_024)))).toEqual([true, true, true, true]);
  expect(arePresent([1, 2].map(() => textOf(60_000)))).toEqual([true, true]);
  expect(arePresent([60, 60, 60].map((kilobytes) => textOf(kilobytes * 1_000)))).toEqual([true, true, false]);
  expect(arePresent([textOf(60_000), empty, textOf(60_000)])).toEqual([true, true, false]);
});

describe('an input that is not there cannot have been there', () => {
  const decided = (input: Partial<ReturnType<typeof decisionOn>['head']['input']>, name = 'image-gc') =>
    decisionOn(look(5), {
      decider: { name, version: '1' },
      input: { ...decisionOn(look(5)).head.input, ...input },
    });
  const why = (decision: RecordedDecision, messages: readonly LogRecord[], deletes = true) =>
    whyImpossible(decision, { deletes, inputs: new Inputs(logOf(messages), 0, { signal: running }) });

  test('on a topic that nobody decides on, or not that decider, and of one that nobody knows nobody knows', async () => {
    const nothing = (name: string, topic: string) => `${name} decides on nothing of ${topic}`;
    const { commands, diskStats: stats } = TOPICS;
    for (const name of ['image-gc', 'newer-gc'])
      expect(await why(decided({ topic: commands.name }, name), [])).toBe(nothing(name, commands.name));
    expect(await why(decided({ topic: stats.name }), [])).toBe(nothing('image-gc', stats.name));
    expect(await why(decided({ topic: stats.name }, 'newer-gc'), [])).toBeNull();
  });

  test('behind the end of a topic that is kept as long as decisions, whatever is deleted', async () => {
    for (const deletes of [true, false])
      expect(await why(decided({}), [look(4)], deletes)).toContain('nothing lies there or behind it');
  });

  test('in an archive of what is kept for a shorter time, once later messages were archived', async () => {
    const onStats = decided({ topic: TOPIC, offset: '12' }, 'pressure');
    const decidedMs = onStats.record.timestampMs;
    const archived = (timestampMs: number) => [
      { ...message(10), timestampMs: 0 },
      { ...message(11), timestampMs },
    ];
    expect(await why(onStats, archived(decidedMs + 10 * MINUTE), false)).toContain('nothing lies there');
    expect(await why(onStats, archived(decidedMs + 10 * MINUTE - 1), false)).toBeNull();
    expect(await why(onStats, archived(0), true)).toContain('nothing lies there');
  });
});

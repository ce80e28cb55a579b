import { beforeAll, describe, expect, test, vi } from 'vitest';
import type { LogRecord } from '../../../../../packages/log/port.ts';
import { TOPICS } from '../../../../../schemas/events/topics.ts';
import { HOUR, MINUTE } from '../../../../fixtures/time.ts';
import { TEST_BOUND_MS } from '../../../../pipeline/support/pipeline.ts';
import { pickedRecord, type Recording, replayed, rewritten } from '../../support/recorded-log.ts';
import { recordedReclaims } from '../../support/recorded-reclaims.ts';
import { named, verify } from '../../support/verify-recording.ts';
import { anotherLetter, endOfCommand, imageCommand, removal } from '../forged/forgeries.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS, hookTimeout: TEST_BOUND_MS });

const DAY = 24 * HOUR;
const AGO_MS = 10 * DAY;
const NOTHING = {
  diskStats: [],
  latestFacts: [],
  inventory: [],
  observe: [],
  decisions: [],
  deadLetters: [],
} as const;

let recording: Recording;
let command: LogRecord;

beforeAll(async () => {
  recording = await recordedReclaims();
  command = later(pickedRecord(recording, 'commands', imageCommand), -AGO_MS);
});

const later = (record: LogRecord, afterMs: number): LogRecord => ({
  ...record,
  timestampMs: record.timestampMs + afterMs,
});

/** A log that has a command, and answers to it three days later alone, read from a day before those. */
async function answeredLate(
  answers: readonly LogRecord[],
  { commands = [command], deletes = true, fromMs = command.timestampMs + 2 * DAY }: Partial<Late> = {},
) {
  const results = answers.map((answer) => later(answer, 3 * DAY - AGO_MS));
  const log = replayed({ ...recording, ...NOTHING, commands, results });
  return await verify(log, { fromMs, toMs: null }, undefined, deletes);
}

interface Late {
  readonly commands: readonly LogRecord[];
  readonly deletes: boolean;
  readonly fromMs: number | null;
}

const answers = (forged: Recording = recording): readonly LogRecord[] => [
  pickedRecord(forged, 'results', removal),
];
/** As a node refuses a command that waited for it. */
const refusedFor = (reason: string): LogRecord => ({
  ...pickedRecord(
    rewritten(recording, 'results', endOfCommand, (text) =>
      JSON.stringify({ ...JSON.parse(text), result: { outcome: 'refused', reason, message: 'old' } }),
    ),
    'results',
    (text) => text.includes(`"reason":"${reason}"`),
  ),
});

test('an answer that comes days after its command, from long before --from, agrees with it', async () => {
  const found = await answeredLate(answers());

  expect(named(found)).toEqual([]);
  expect(found.counts).toMatchObject({ ofEarlier: 1, outOfRange: 0, commands: 0 });
});

test('one that does not agree is told', async () => {
  const forged = rewritten(recording, 'results', removal, anotherLetter('"object":{"id":"sha256:'));

  expect(named(await answeredLate(answers(forged)))).toEqual([
    `not-commanded ${TOPICS.results.name}@${pickedRecord(recording, 'results', removal).offset}`,
  ]);
});

test('an answer to something on the topic that is no command', async () => {
  const unreadable = {
    ...command,
    value: Buffer.from(String(command.value).replace('"lifetimeMs"', '"life"')),
  };

  for (const fromMs of [command.timestampMs + 1, command.timestampMs + 2 * DAY])
    expect(named(await answeredLate([refusedFor('malformed')], { commands: [unreadable], fromMs }))).toEqual(
      [],
    );
});

describe('without its command on the log', () => {
  test('a removal is told, a refusal of what was too old not: retention may have taken the command', async () => {
    const kinds = async (record: LogRecord, deletes: boolean) =>
      (await answeredLate([record], { commands: [], deletes })).deviations.byKind;
    const toldOnly = { 'not-commanded': 1 };

    for (const removed of answers())
      for (const deletes of [true, false]) expect(await kinds(removed, deletes)).toEqual(toldOnly);
    expect(await kinds(refusedFor('expired'), false)).toEqual(toldOnly);
    expect(await kinds(refusedFor('held'), true)).toEqual(toldOnly);
    expect(await kinds(refusedFor('expired'), true)).toEqual({});
  });
});

test('a command that expired without any result is named, and whether its node was heard after that', async () => {
  const inventory = recording.inventory.slice(-1);
  const unanswered = async (heardMs: number) => {
    const heard = inventory.map((record) => ({ ...record, timestampMs: command.timestampMs + heardMs }));
    const log = { ...recording, ...NOTHING, inventory: heard, results: [], commands: [command] };
    return (await verify(replayed(log))).unanswered;
  };

  expect((await unanswered(HOUR)).first).toMatchObject([
    { kind: 'node-lives-on', node: command.key, place: { offset: String(command.offset) } },
  ]);
  expect((await unanswered(5 * MINUTE)).byKind).toEqual({ 'node-silent': 1 });
});

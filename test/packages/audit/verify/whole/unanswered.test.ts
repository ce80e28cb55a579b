import { beforeAll, expect, test, vi } from 'vitest';
import type { LogRecord } from '../../../../../packages/log/port.ts';
import { Decision } from '../../../../../schemas/events/decision.ts';
import type { DecisionInput } from '../../../../../schemas/events/decision-parts.ts';
import { MINUTE } from '../../../../fixtures/time.ts';
import { TEST_BOUND_MS } from '../../../../pipeline/support/pipeline.ts';
import { recordOf } from '../../../../support/logs/log-record.ts';
import { pickedRecord, type Recording, replayed, without } from '../../support/recorded-log.ts';
import { recordedReclaims } from '../../support/recorded-reclaims.ts';
import { verify } from '../../support/verify-recording.ts';
import { decided, endOfCommand } from '../forged/forgeries.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS, hookTimeout: TEST_BOUND_MS });

let recording: Recording;

beforeAll(async () => {
  recording = await recordedReclaims();
});

test('a node that never answers: its commands expired or may still be answered, and nothing deviates', async () => {
  const found = await verify(
    replayed({ ...recording, results: [], observe: ordersOf(['pressure', 'container-gc']) }),
  );

  expect(found.deviations.first).toEqual([]);
  expect(found.counts.expired + found.counts.open).toBe(found.counts.commands);
  expect(found.counts.expired).toBeGreaterThan(0);
});

const ordersOf = (deciders: readonly string[]): Recording['observe'] =>
  recording.observe.filter(({ headers }) =>
    deciders.some((name) => headers.ce_source === `/fleetgc/${name}`),
  );

test('objects that went with a result are not told as not ours, and without one they are', async () => {
  const told = await verify(replayed(recording));
  const untold = await verify(replayed({ ...recording, results: [] }));
  const images = ({ notOurs }: typeof told): number => notOurs.byKind.image ?? 0;

  expect(images(told)).toBe(0);
  expect(images(untold)).toBe(told.counts.removals - (untold.notOurs.byKind.container ?? 0));
});

test('the last result of a command is gone: not verified where its node lived on, and open where it did not', async () => {
  const ended = recording.results.findLast(({ value }) => endOfCommand(String(value)));
  const cutMs = ended?.timestampMs ?? 0;
  const commands = recording.commands.filter(({ timestampMs }) => timestampMs < cutMs);
  const results = recording.results.filter((record) => record !== ended && record.timestampMs <= cutMs);
  const heardLater = (minutes: number): Recording => ({
    ...recording,
    observe: [],
    decisions: [],
    diskStats: [],
    commands,
    results,
    inventory: recording.inventory
      .slice(0, 1)
      .map((record) => ({ ...record, timestampMs: cutMs + minutes * MINUTE })),
  });
  const gaps = async (minutes: number) =>
    (await verify(replayed(heardLater(minutes)))).unverified.byKind['answer-missing'];

  expect(await gaps(11)).toBe(1);
  expect(await gaps(9)).toBeUndefined();
});

test('the result of a command is lost where a later one was carried out, and not where a later one was refused', async () => {
  const isOfObject = ({ value }: LogRecord): boolean =>
    value?.includes('fleetgc.node.object-result') === true;
  const [first] = recording.results.filter(isOfObject).map(commandIdOf);
  const last = recording.results.findLast(({ value }) => endOfCommand(String(value)));
  const result = { outcome: 'refused', reason: 'superseded', message: '' };
  const refusal = JSON.stringify({ ...JSON.parse(String(last?.value)), result });
  const ofObjects = recording.results.filter(isOfObject);
  const ofFirst = ofObjects.filter((record) => commandIdOf(record) === first);
  const refused = last === undefined ? [] : [{ ...last, value: Buffer.from(refusal) }];
  const lost = async (results: Recording['results']) =>
    (await verify(replayed({ ...recording, results }))).deviations.first
      .filter(({ kind }) => kind === 'result-missing' || kind === 'unreadable')
      .map(({ message }) => message);

  expect(await lost(ofObjects)).toContainEqual(expect.stringContaining('carried out later commands'));
  expect(refusal).toContain('superseded');
  expect(await lost([...ofFirst, ...refused])).toEqual([]);
});

const commandIdOf = ({ value }: LogRecord): string | undefined =>
  /"commandId":"([^"]+)"/.exec(String(value))?.[1];

test('a message that was given up, or counted in the next dead letter, is no gap in the decisions', async () => {
  const pick = decided('nothing-to-do', 'container-gc');
  const { input } = Decision.parse(JSON.parse(String(pickedRecord(recording, 'decisions', pick).value)));
  const letter = deadLetterOf(input, 'fleetgc-container-gc');
  const other = deadLetterOf(input, 'fleetgc-image-gc');
  const given = without(recording, 'decisions', pick);
  const kinds = async (records: Recording['deadLetters']): Promise<readonly string[]> =>
    Object.keys((await verify(replayed({ ...given, deadLetters: records }))).deviations.byKind);

  expect(await kinds([letter])).toEqual([]);
  expect(await kinds([other])).toEqual(['undecided']);

  const next = { ...input, offset: String(BigInt(input.offset) + 1n) };
  const counted = (suppressedBefore: number) => deadLetterOf(next, 'fleetgc-container-gc', suppressedBefore);
  expect(await kinds([counted(1)])).toEqual([]);
  expect(await kinds([counted(0)])).toEqual(['undecided']);
});

test.each([
  ['the offset', (text: string) => text.replace(/"offset":"\d+"/, '"offset":"999999"'), ['undecided']],
  [
    'the group',
    (text: string) => text.replace('fleetgc-container-gc', 'fleetgc-containex-gc'),
    ['undecided'],
  ],
  [
    'the cause',
    (text: string) => text.replace('handler-failed', 'handler-tailed'),
    ['unreadable', 'undecided'],
  ],
] as const)('one byte: %s in a dead letter, which then excuses nothing', async (_, change, kinds) => {
  const pick = decided('nothing-to-do', 'container-gc');
  const { input } = Decision.parse(JSON.parse(String(pickedRecord(recording, 'decisions', pick).value)));
  const letter = deadLetterOf(input, 'fleetgc-container-gc');
  const deadLetters = [{ ...letter, value: Buffer.from(change(String(letter.value))) }];
  const { deviations } = await verify(replayed({ ...without(recording, 'decisions', pick), deadLetters }));

  expect(Object.keys(deviations.byKind).toSorted()).toEqual([...kinds].toSorted());
});

function deadLetterOf(
  { topic, partition, offset }: DecisionInput,
  group: string,
  suppressedBefore = 0,
): LogRecord {
  const event = {
    type: 'fleetgc.dead-letter',
    version: 1,
    id: 'dead-letter-1',
    cause: 'handler-failed',
    message: 'it failed three times',
    group,
    topic,
    partition,
    offset,
    timestampMs: 0,
    key: Buffer.from('prod/web-1').toString('base64'),
    value: null,
    headers: {},
    omittedBytes: 0,
    suppressedBefore,
  } as const;
  const input = recording.inventory.find((record) => String(record.offset) === offset);
  const place = { partition, timestampMs: input?.timestampMs ?? 0 };
  return recordOf({ topic: 'deadLetters', key: 'prod/web-1', event }, place);
}

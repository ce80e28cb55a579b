import { beforeAll, describe, expect, test, vi } from 'vitest';
import type { LogRecord } from '../../../../../packages/log/port.ts';
import { TOPICS } from '../../../../../schemas/events/topics.ts';
import { MINUTE } from '../../../../fixtures/time.ts';
import { TEST_BOUND_MS } from '../../../../pipeline/support/pipeline.ts';
import {
  appended,
  lastRecord,
  mapRecords,
  pickedRecord,
  type Recording,
  replayed,
  rewritten,
  without,
} from '../../support/recorded-log.ts';
import { recordedReclaims } from '../../support/recorded-reclaims.ts';
import { named, verify } from '../../support/verify-recording.ts';
import { LATE_ANSWERS_CHANGED } from '../forged/chain-cases.ts';
import {
  anotherDigit,
  anotherLetter,
  contains,
  endOfCommand,
  imageCommand,
  removal,
} from '../forged/forgeries.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS, hookTimeout: TEST_BOUND_MS });

const DAY_MS = 24 * 60 * MINUTE;

let recording: Recording;

beforeAll(async () => {
  recording = await recordedReclaims();
});

describe('a reclaim in an inventory that nobody gave', () => {
  const pick = contains('"trigger":"order"');
  const daysAgo = (days: number, recent: Recording): Recording =>
    mapRecords(recent, (record) => ({ ...record, timestampMs: record.timestampMs - days * DAY_MS }));
  const about = (kind: string): string =>
    `${kind} ${TOPICS.inventory.name}@${pickedRecord(recording, 'inventory', pick).offset}`;
  const toldOf = async (rewrite: (text: string) => string, days: number, over: Partial<Recording> = {}) =>
    named(
      await verify(replayed(daysAgo(days, { ...rewritten(recording, 'inventory', pick, rewrite), ...over }))),
    );

  test('is named in an archive, however old', async () => {
    const old = longAgo(rewritten(recording, 'inventory', pick, anotherDigit('"id":"reclaim-')));
    expect(named(await verify(replayed(old), undefined, undefined, false))).toContain(about('not-decided'));
  });

  test('is named on a log that has no orders of that time any more, by the decisions that began reclaims', async () => {
    const gone = { observe: [] };
    expect(await toldOf(anotherDigit('"id":"reclaim-'), 3, gone)).toContain(about('not-decided'));
    expect(await toldOf(anotherDigit('atLeast'), 3, gone)).toContain(about('output-differs'));
    // Of a decision of a newer release nobody knows what it began.
    const newer = recording.decisions.map((record) =>
      record.value?.includes('"outcome":"ordered"')
        ? { ...record, value: Buffer.from(String(record.value).replace(/"version":1}$/, '"version":9}')) }
        : record,
    );
    expect(await toldOf(anotherDigit('"id":"reclaim-'), 3, { ...gone, decisions: newer })).not.toContain(
      about('not-decided'),
    );
  });

  test('is not known where retention may have taken the decisions too', async () => {
    expect(await toldOf(anotherDigit('"id":"reclaim-'), 20)).not.toContain(about('not-decided'));
  });

  test('and those that were given are right, with or without their orders', async () => {
    const told = named(await verify(replayed(daysAgo(3, { ...recording, observe: [] }))));
    expect(told.filter((text) => text.includes(TOPICS.inventory.name))).toEqual([]);
  });
});

/** Begins right after the first command for images, so all its results lie in the range. */
const afterImageCommand = () => ({
  fromMs: pickedRecord(recording, 'commands', imageCommand).timestampMs + 1,
  toMs: null,
});

test.each(LATE_ANSWERS_CHANGED)(
  'one byte, of an answer to a command from before --from: $name',
  async ({ topic, pick, rewrite, kind }) => {
    const { offset } = pickedRecord(recording, topic, pick);
    const found = await verify(replayed(rewritten(recording, topic, pick, rewrite)), afterImageCommand());

    expect(named(found)).toEqual([`${kind} ${TOPICS[topic].name}@${offset}`]);
  },
);

test('a removal of an object that a command from before --from does not name, beside the others', async () => {
  const forged = appended(recording, 'results', removal, (text) =>
    anotherLetter('"object":{"id":"sha256:')(anotherDigit('"id":"object-result-')(text)),
  );
  const { offset } = lastRecord(recording, 'results');
  const found = await verify(replayed(forged), afterImageCommand());

  expect(named(found)).toEqual([`not-commanded ${TOPICS.results.name}@${offset + 1n}`]);
});

test('answers to a command from before --from agree with it: it is neither verified, nor open, nor expired', async () => {
  const whole = await verify(replayed(recording), afterImageCommand());
  const unended = await verify(replayed(without(recording, 'results', endOfCommand)), afterImageCommand());

  for (const found of [whole, unended]) {
    expect(found.deviations.first).toEqual([]);
    expect(found.counts).toMatchObject({ open: 0, expired: 0, commands: recording.commands.length - 1 });
  }
  expect(whole.counts.ofEarlier).toBe(unended.counts.ofEarlier + 1);
  expect(whole.counts.outOfRange).toBe(unended.counts.outOfRange);
});

test('a command that lies there again after --from is the one from before', async () => {
  const command = pickedRecord(recording, 'commands', imageCommand);
  const ending = pickedRecord(recording, 'results', endOfCommand);
  const again = { ...command, offset: command.offset + 1n, timestampMs: ending.timestampMs };
  const commands = recording.commands.flatMap((record) => {
    if (record === command) return [record, again];
    return [record.offset > command.offset ? { ...record, offset: record.offset + 1n } : record];
  });
  const range = { fromMs: ending.timestampMs, toMs: null };
  const found = await verify(replayed({ ...recording, commands }), range);

  expect(named(found)).toEqual([]);
  expect(found.counts).toMatchObject({ open: 0, expired: 0 });
});

test('answers to a command from before --from are checked, however late they come', async () => {
  const hoursLate = (hours: number) => (record: LogRecord) => ({
    ...record,
    timestampMs: record.timestampMs + hours * 60 * MINUTE,
  });
  const rewrite = anotherLetter('"object":{"id":"sha256:');
  const answer = pickedRecord(rewritten(recording, 'results', removal, rewrite), 'results', removal);
  const only = {
    ...recording,
    inventory: [],
    observe: [],
    decisions: [],
    commands: [pickedRecord(recording, 'commands', imageCommand)],
    diskStats: recording.diskStats.slice(-1).map(hoursLate(25)),
  };
  const after = async (hours: number) =>
    (await verify(replayed({ ...only, results: [hoursLate(hours)(answer)] }), afterImageCommand()))
      .deviations;

  expect((await after(23)).byKind).toEqual({ 'not-commanded': 1 });
  expect((await after(26)).byKind).toEqual({ 'not-commanded': 1 });
});

/** Times between which records came, evenly spread. */
const someTimes = (): readonly number[] => {
  const times = [
    ...new Set(Object.values(recording).flatMap((all) => all.map(({ timestampMs }) => timestampMs))),
  ];
  return times.toSorted((a, b) => a - b).filter((_, index) => index % 6 === 3);
};

test('from and to any time: nothing deviates, and what lies outside is counted at the most', async () => {
  for (const timeMs of someTimes())
    for (const range of [
      { fromMs: timeMs, toMs: null },
      { fromMs: null, toMs: timeMs },
    ]) {
      const found = await verify(replayed(recording), range);
      expect(named(found)).toEqual([]);
      expect(found.counts.verified).toBe(found.counts.decisions);
      expect(found.counts.outOfRange).toBe(0);
    }
});

describe('a range that begins between a decision and what follows from it', () => {
  const changed = [
    { topic: 'commands', pick: imageCommand, rewrite: anotherDigit('"id":"command-'), kind: 'not-decided' },
    { topic: 'commands', pick: imageCommand, rewrite: anotherDigit('"lifetimeMs"'), kind: 'output-differs' },
    {
      topic: 'observe',
      pick: contains('"id":"observe-'),
      rewrite: anotherDigit('"id":"observe-'),
      kind: 'not-decided',
    },
  ] as const;

  test.each(changed)('still shows what is wrong with one of $topic: $kind', async (forgery) => {
    const { topic, pick, rewrite, kind } = forgery;
    const { offset, timestampMs } = pickedRecord(recording, topic, pick);
    const forged = rewritten(recording, topic, pick, rewrite);
    const range = { fromMs: timestampMs, toMs: timestampMs + 1 };

    expect(named(await verify(replayed(forged), range))).toEqual([`${kind} ${TOPICS[topic].name}@${offset}`]);
    expect(named(await verify(replayed(recording), range))).toEqual([]);
  });

  test('shows a reclaim in an inventory that no order has', async () => {
    const pick = contains('"trigger":"order"');
    const { offset, timestampMs } = pickedRecord(recording, 'inventory', pick);
    const forged = rewritten(recording, 'inventory', pick, anotherDigit('"id":"reclaim-'));
    const range = { fromMs: timestampMs, toMs: timestampMs + 1 };
    const kinds = async (of: Recording) => named(await verify(replayed(of), range, undefined, false));

    expect(await kinds(forged)).toContain(`not-decided ${TOPICS.inventory.name}@${offset}`);
    expect(await kinds(recording)).toEqual([]);
  });
});

test('a log whose beginning was deleted: no deviation, and only inputs are missing', async () => {
  for (const timeMs of someTimes()) {
    const found = await verify(replayed(keptSince(timeMs)));
    expect(found.deviations.first).toEqual([]);
    expect(
      Object.keys(found.unverified.byKind).filter(
        (kind) => kind !== 'input-gone' && kind !== 'disk-stats-gone',
      ),
    ).toEqual([]);
  }
});

test('decisions on disk statistics that are older than they are kept are not verified, and it is said why', async () => {
  const daysAgo = (days: number, deletes: boolean) => {
    const shifted = mapRecords({ ...recording, diskStats: [] }, (record) => ({
      ...record,
      timestampMs: record.timestampMs - days * 24 * 60 * MINUTE,
    }));
    return verify(replayed(shifted), undefined, undefined, deletes);
  };
  const kinds = async (days: number, deletes: boolean) =>
    Object.keys((await daysAgo(days, deletes)).unverified.byKind);

  expect(await kinds(2, true)).toEqual(['disk-stats-gone']);
  expect(await kinds(2, false)).toEqual(['input-gone']);
  // Positions of them are there, and they should be.
  expect(await kinds(0, true)).toEqual(['input-gone', 'records-missing']);
});

test.each([
  { topic: 'commands', rewrite: anotherDigit('"id":"command-'), kind: 'not-decided' },
  {
    topic: 'results',
    rewrite: (text: string) =>
      anotherDigit('"commandId":"command-')(anotherDigit('"id":"object-result-')(text)),
    kind: 'not-commanded',
  },
] as const)(
  'one of the $topic too many is named in an archive, however old it is',
  async ({ topic, rewrite, kind }) => {
    const pick = topic === 'commands' ? imageCommand : removal;
    const old = longAgo(appended(recording, topic, pick, rewrite));

    expect((await verify(replayed(old), undefined, undefined, false)).deviations.byKind).toEqual({
      [kind]: 1,
    });
    // Of a log that deletes nobody knows what it still had then.
    expect((await verify(replayed(old))).deviations.total).toBe(0);
  },
);

test('an archive that began late: no deviation, and only inputs are missing', async () => {
  for (const timeMs of someTimes()) {
    const found = await verify(replayed(longAgo(keptSince(timeMs))), undefined, undefined, false);
    expect(found.deviations.first).toEqual([]);
    expect(Object.keys(found.unverified.byKind).filter((gap) => gap !== 'input-gone')).toEqual([]);
  }
});

const LONG_MS = 200 * 24 * 60 * MINUTE;
/** Positions carry the times of their facts in their values: there are none. */
const longAgo = (recent: Recording): Recording => ({
  ...mapRecords(recent, (record) => ({ ...record, timestampMs: record.timestampMs - LONG_MS })),
  latestFacts: [],
});

/** As after retention; what is known of policies stays. */
const keptSince = (timeMs: number): Recording => {
  let kept = recording;
  for (const id of ['diskStats', 'inventory', 'observe', 'decisions', 'commands', 'results'] as const)
    kept = { ...kept, [id]: kept[id].filter((record) => record.timestampMs >= timeMs) };
  return kept;
};

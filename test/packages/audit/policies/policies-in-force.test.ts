import { describe, expect, test } from 'vitest';
import {
  type InForceReading,
  readPoliciesInForce,
} from '../../../../packages/audit/policies/policies-in-force.ts';
import { policySet } from '../../../../packages/decision/policy-set.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { policyEntryOf } from '../../../../packages/policy/policy-reading.ts';
import { keyOf } from '../../../../packages/records/parse/record-key.ts';
import { NOBODY_PROVED } from '../../../../packages/records/trust/trust.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import type { SubjectKind } from '../../../../schemas/events/identity.ts';
import { type ApprovalRecord, approvalKey } from '../../../../schemas/policy/approval.ts';
import type { PolicyRecord, PolicySetOf, PolicyTopicRecord } from '../../../../schemas/policy/policy.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { approval, approvedOwner } from '../../../fixtures/approval.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { deletionOutput, EVERY_NODE, pauseRecord } from '../../../fixtures/policy.ts';
import { HOUR, MINUTE, NOW } from '../../../fixtures/time.ts';
import { recordOf } from '../../../support/logs/log-record.ts';
import { logOf } from '../support/archives.ts';

const first = appliedPolicy();
const second: PolicyRecord = { ...appliedPolicy({ imageGCHighThresholdPercent: 90 }), policyVersion: 2 };
const other = appliedPolicy({ name: 'other', priority: 1 });
const pause = pauseRecord({ selector: EVERY_NODE });

interface Written {
  readonly offset?: number;
  readonly minute: number;
  readonly event?: PolicyTopicRecord;
  /** In place of an event: what is deleted. */
  readonly key?: string;
  readonly value?: string;
}

function written({ minute, event, key = '', value, ...place }: Written, index: number): LogRecord {
  const { offset = index } = place;
  const output = {
    topic: 'policies',
    key: keyOf('policies', event ?? first),
    event: event ?? first,
  } as const;
  const at = { offset: BigInt(offset), partition: 0, timestampMs: NOW + minute * MINUTE };
  if (event === undefined && value === undefined) return recordOf(deletionOutput(key), at);
  const record = recordOf(output, at);
  return value === undefined ? record : { ...record, value: Buffer.from(value) };
}

const NOT_WRITTEN: InForceReading['written'] = { mayBeWritten: () => false };

/** What is said of a decision under a set at a minute; the log is read a week later unless something else is said. */
async function told(
  records: readonly Written[],
  set: PolicySetOf<SubjectKind>,
  {
    minute,
    readMinute = 7 * 24 * 60,
    deletes = true,
    versions = NOT_WRITTEN,
  }: { minute: number; readMinute?: number; deletes?: boolean; versions?: InForceReading['written'] },
): Promise<string> {
  const inForce = await readPoliciesInForce(
    logOf(records.map(written)),
    { nowMs: NOW + readMinute * MINUTE, deletes, written: versions },
    new AbortController().signal,
  );
  return inForce.problemOf(set, NOW + minute * MINUTE)?.kind ?? 'held';
}

const ofFirst = policySet('node', [first], []);
const ofSecond = policySet('node', [second], []);
const ofBoth = policySet('node', [first, other], []);
const paused = policySet('node', [first], [pause]);
const none = policySet('node', [], []);

/** `first` from the beginning, `second` since an hour, deleted after two. */
const CHANGES: readonly Written[] = [
  { minute: 0, event: first },
  { minute: 60, event: second },
  { minute: 120, key: first.policy.name },
];

test('a record that could not be read is the pause that it amounted to, as long as it stood', async () => {
  const value = JSON.stringify({ ...other, source: '\ud800' });
  const broken = { minute: 60, event: other, value };
  const records = [{ minute: 0, event: first }, broken, { minute: 120, key: 'other' }];
  const entry = policyEntryOf(written(broken, 1), NOBODY_PROVED);
  if (entry?.kind !== 'unreadable' || entry.hold === null) throw new Error('it can be read');
  const held = policySet('node', [first], [entry.hold]);

  expect(await told(records, held, { minute: 90 })).toBe('held');
  expect(await told(records, ofFirst, { minute: 90 })).toBe('policies-outdated');
  expect(await told(records, held, { minute: 180 })).toBe('policies-outdated');
  expect(await told(records, ofFirst, { minute: 180 })).toBe('held');
});

describe('each change is on the log', () => {
  test.each([
    ['before anything was applied', none, -30, 'held'],
    ['ten minutes after the first was applied', none, 10, 'held'],
    ['later', none, 11, 'policies-outdated'],
    ['long before it was applied', ofFirst, -11, 'policies-never-held'],
    ['a little before it was applied: clocks of brokers', ofFirst, -10, 'held'],
    ['while it held', ofFirst, 30, 'held'],
    ['ten minutes after it was changed', ofFirst, 70, 'held'],
    ['later', ofFirst, 71, 'policies-outdated'],
    ['the next, long before', ofSecond, 49, 'policies-never-held'],
    ['the next, while it held', ofSecond, 100, 'held'],
    ['the next, long after it was deleted', ofSecond, 131, 'policies-outdated'],
    ['none, after it was deleted', none, 200, 'held'],
    ['a policy that nobody applied', ofBoth, 30, 'policies-never-held'],
    ['a pause that nobody made', paused, 30, 'policies-never-held'],
  ])('%s', async (_name, set, minute, kind) => {
    expect(await told(CHANGES, set, { minute })).toBe(kind);
    expect(await told(CHANGES, set, { minute, deletes: false })).toBe(kind);
  });

  test.each([
    ['without the pause, while it holds', ofFirst, 11, 'policies-outdated'],
    ['without the pause, right after it began', ofFirst, 10, 'held'],
    ['with the pause, after it ended', paused, 71, 'policies-outdated'],
    ['without the pause, after it ended', ofFirst, 71, 'held'],
  ])('%s', async (_name, set, minute, kind) => {
    const records = [
      { minute: -60, event: first },
      { minute: 0, event: pause },
      { minute: 60, key: keyOf('policies', pause) },
    ];
    expect(await told(records, set, { minute })).toBe(kind);
  });

  test.each<{ name: string; records: readonly Written[]; words: string }>([
    { name: 'a pause that began', records: [{ minute: 9, event: pause }], words: 'a pause began' },
    {
      name: 'a pause that ended',
      records: [
        { minute: 1, event: pause },
        { minute: 9, key: keyOf('policies', pause) },
      ],
      words: 'a pause ended',
    },
    {
      name: 'a policy that was changed',
      records: [{ minute: 9, event: second }],
      words: 'policy default was changed',
    },
    {
      name: 'a policy that was deleted',
      records: [{ minute: 9, key: first.policy.name }],
      words: 'policy default was deleted',
    },
  ])('the record that ended it is named, and what it did: $name', async ({ records, words }) => {
    const set = records.length === 1 ? ofFirst : paused;
    const inForce = await readPoliciesInForce(
      logOf([{ minute: 0, event: first }, ...records].map(written)),
      { nowMs: NOW + HOUR, deletes: true, written: NOT_WRITTEN },
      new AbortController().signal,
    );

    expect(inForce.problemOf(set, NOW + 30 * MINUTE)).toEqual({
      kind: 'policies-outdated',
      message: `it was decided under policies that did not hold any more: ${words} at ${timeText(NOW + 9 * MINUTE)}`,
      places: [expect.objectContaining({ topic: 'gc.policies', offset: String(records.length) })],
    });
  });
});

describe('compaction took what is older', () => {
  const left: readonly Written[] = [{ offset: 7, minute: 60, event: second }];

  test.each([
    ['what stood before is not known', ofFirst, 30, 'held'],
    ['nothing may have stood before', none, 30, 'held'],
    ['what stands is', ofFirst, 71, 'policies-outdated'],
    [
      'a policy without a record may have been deleted since',
      policySet('node', [second, other], []),
      100,
      'held',
    ],
  ])('%s', async (_name, set, minute, kind) => {
    expect(await told(left, set, { minute })).toBe(kind);
  });

  test('a deletion is known for a day: what has no record now did not stand lately', async () => {
    const set = policySet('node', [second, other], []);
    const since = (hours: number) => ({ minute: 30 * 60, readMinute: (30 + hours) * 60 });

    expect(await told(left, set, since(22))).toBe('policies-never-held');
    expect(await told(left, set, since(24))).toBe('held');
    expect(await told([], set, since(22))).toBe('policies-never-held');
  });

  test('an archive that came later may lack versions between two that it has', async () => {
    const third: PolicyRecord = { ...second, policyVersion: 3 };
    const archived: readonly Written[] = [
      { offset: 0, minute: 0, event: first },
      { offset: 1, minute: 1, event: other },
      { offset: 3, minute: 60, event: third },
    ];

    const between = (policies: readonly PolicyRecord[]) =>
      told(archived, policySet('node', policies, []), { minute: 30, deletes: false });
    expect(await between([second, other])).toBe('held');
    expect(await between([second, { ...other, policyVersion: 2 }])).toBe('policies-never-held');
    expect(await between([second])).toBe('policies-never-held');
  });

  test('what stood before the first record that is left of its key is not known', async () => {
    const some: readonly Written[] = [
      { offset: 0, minute: 0, event: first },
      { offset: 2, minute: 60, event: { ...other, policyVersion: 2 } },
    ];

    expect(await told(some, ofBoth, { minute: 30 })).toBe('held');
    expect(await told(some, policySet('node', [second, other], []), { minute: 30 })).toBe(
      'policies-never-held',
    );
  });
});

describe('[cluster S7] an approval', () => {
  const policyOfClusters = clusterPolicyRecord();
  const given = approval(approvedOwner('o', 3));
  const wider = approval(approvedOwner('o', 4));
  const set = (...approvals: readonly ApprovalRecord[]) =>
    policySet('cluster', [policyOfClusters], [], approvals);
  const key = approvalKey(given);
  /** Given after half an hour, made wider after one hour, withdrawn after two. */
  const changes: readonly Written[] = [
    { minute: 0, event: policyOfClusters },
    { minute: 30, event: given },
    { minute: 60, event: wider },
    { minute: 120, key },
  ];

  test.each([
    ['long before it was given', set(given), 19, 'policies-never-held'],
    ['a little before it was given: clocks of brokers', set(given), 20, 'held'],
    ['while it stood', set(given), 50, 'held'],
    ['ten minutes after it was made wider', set(given), 70, 'held'],
    ['later', set(given), 71, 'policies-outdated'],
    ['the wider one, long before', set(wider), 49, 'policies-never-held'],
    ['the wider one, ten minutes after it was withdrawn', set(wider), 130, 'held'],
    ['later', set(wider), 131, 'policies-outdated'],
    ['whoever does not know it, while it stands', set(), 100, 'held'],
    ['one that nobody gave', set(approval(approvedOwner('p', 3))), 50, 'policies-never-held'],
    ['both at once', set(given, approval(approvedOwner('p', 3))), 50, 'policies-never-held'],
  ])('%s', async (_name, decidedUnder, minute, kind) => {
    expect(await told(changes, decidedUnder, { minute })).toBe(kind);
    expect(await told(changes, decidedUnder, { minute, deletes: false })).toBe(kind);
  });

  test('that cannot be read is none', async () => {
    const records = [...changes.slice(0, 2), { minute: 60, event: given, value: '{}' }];
    expect(await told(records, set(given), { minute: 71 })).toBe('policies-outdated');
    expect(await told(records, set(), { minute: 71 })).toBe('held');
  });

  test('whose end was forgotten may have stood, and lately it did not', async () => {
    const left = [{ offset: 7, minute: 0, event: policyOfClusters }];
    const since = (hours: number) => ({ minute: 100, readMinute: 100 + hours * 60 });
    expect(await told(left, set(given), since(22))).toBe('policies-never-held');
    expect(await told(left, set(given), since(24))).toBe('held');
  });

  test('that is missing from an archive may have stood where records of it are missing', async () => {
    const archived = changes.map((change, offset) => ({ ...change, offset }));
    const [policyWritten, , madeWider, withdrawn] = archived;
    if (!policyWritten || !madeWider || !withdrawn) throw new Error('they are written');
    const at = { minute: 50, deletes: false };
    expect(await told([policyWritten, madeWider, withdrawn], set(given), at)).toBe('held');
    expect(await told([policyWritten, withdrawn], set(given), at)).toBe('held');
  });
});

test('a record that nobody can read may say anything', async () => {
  const records = [
    { minute: 0, event: first },
    { minute: 60, event: first, value: '{}' },
  ];
  expect(await told(records, ofSecond, { minute: 100 })).toBe('held');
  expect(await told(records, ofSecond, { minute: 30 })).toBe('policies-never-held');
});

test('what was decided after the topic was read is not judged', async () => {
  expect(await told(CHANGES, ofFirst, { minute: 300, readMinute: 299 })).toBe('held');
});

test('a set is put together from what gc.policy-versions has of a content, which may be the record of another version', async () => {
  const again: PolicyRecord = {
    ...first,
    policyVersion: 3,
    id: 'applied-again',
    source: 'written differently',
  };
  const records = [
    { minute: 0, event: first },
    { minute: 60, event: second },
    { minute: 120, event: again },
  ];
  const putTogether = policySet('node', [{ ...again, policyVersion: first.policyVersion }], []);
  expect(await told(records, putTogether, { minute: 30 })).toBe('held');
  expect(await told(records, putTogether, { minute: 100 })).toBe('policies-outdated');
});

describe('the topic was made anew', () => {
  /** Deciders wrote an hour before it began that they decide under this set. */
  const versions = { mayBeWritten: (_hash: string, byMs: number) => byMs >= NOW - HOUR };

  test.each([
    ['what was decided before', ofFirst, -30, 'topic-recreated'],
    ['what was decided before, under a pause that is gone', paused, -30, 'topic-recreated'],
    ['what a decider did not know yet', paused, 10, 'topic-recreated'],
    ['what was decided later under what is gone', paused, 11, 'policies-never-held'],
    ['what was decided before any decider wrote of it', ofFirst, -71, 'policies-never-held'],
    ['what was decided while it was there', ofFirst, 100, 'policies-outdated'],
  ])('%s', async (_name, set, minute, kind) => {
    expect(await told(CHANGES, set, { minute, versions })).toBe(kind);
  });
});

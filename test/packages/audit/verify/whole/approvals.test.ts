import { describe, expect, test, vi } from 'vitest';
import { openArchiveLog } from '../../../../../packages/archive/read-archive.ts';
import { explainCluster } from '../../../../../packages/audit/explain/cluster.ts';
import type { Found } from '../../../../../packages/audit/verify/findings.ts';
import { ruleWords } from '../../../../../packages/deciders/rule-words.ts';
import type { Output } from '../../../../../packages/decision/handler.ts';
import { policySet, policySetRecord } from '../../../../../packages/decision/policy-set.ts';
import type { LogRecord } from '../../../../../packages/log/port.ts';
import { policySetOutput } from '../../../../../packages/service/decision-writing.ts';
import type { Ownership } from '../../../../../schemas/events/ownership.ts';
import { TOPICS } from '../../../../../schemas/events/topics.ts';
import { type ApprovalRecord, approvalKey } from '../../../../../schemas/policy/approval.ts';
import type { OwnRule } from '../../../../../schemas/policy/own-rule.ts';
import type { PolicySetOf } from '../../../../../schemas/policy/policy.ts';
import {
  approval,
  approvedObjects,
  approvedOwner,
  approvedOwners,
  approvedPods,
  approvedRule,
} from '../../../../fixtures/approval.ts';
import { clusterPolicyRecord } from '../../../../fixtures/cluster.ts';
import { expiry, expiryCandidate, jobFacts } from '../../../../fixtures/expiry.ts';
import { candidate, owner, ownership } from '../../../../fixtures/ownership.ts';
import { podCandidate, pods } from '../../../../fixtures/pods.ts';
import { deletionOutput } from '../../../../fixtures/policy.ts';
import { MINUTE } from '../../../../fixtures/time.ts';
import { TEST_BOUND_MS } from '../../../../pipeline/support/pipeline.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { archived, logOf } from '../../support/archives.ts';
import {
  begun,
  type ClusterHistory,
  commandIn,
  type DecidedFact,
  decisionIn,
  POLICY,
} from '../../support/cluster-history.ts';
import { named, verify } from '../../support/verify-recording.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS, hookTimeout: TEST_BOUND_MS });

const EVERYTHING = { fromMs: null, toMs: null };
const running = new AbortController().signal;

/** More than the policy lets go with one owner. */
const OBJECTS = 1_200;
const GIVEN = approval(approvedOwner('o', OBJECTS));
const KEY = approvalKey(GIVEN);
const AS_GIVEN = policySet('cluster', [POLICY], [], [GIVEN]);

/** Objects of one owner that is gone: as many go with it. */
const held = (id: string, objects = OBJECTS): Ownership => {
  const cascades = [{ ownerUid: 'o', ownerKind: 'ConfigMap', objects, ofKind: objects, within: null }];
  const references = [owner('o', { state: 'gone' })];
  return ownership({ id, candidates: [candidate({ object: { uid: 'x' }, references, cascades })] });
};

/** So late that what is not on `gc.policies` was not on another topic of that name either. */
function longAfter(log: ClusterHistory): ClusterHistory {
  log.nowMs += 20 * MINUTE;
  return log;
}

const stated = (event: ApprovalRecord): Output => ({ topic: 'policies', key: approvalKey(event), event });

/** A set of these approvals under the name of the one that `gc.policies` held: what a decider decides under that takes them for those. */
const passedOffAs = (approvals: readonly ApprovalRecord[], real = AS_GIVEN): PolicySetOf<'cluster'> => ({
  ...policySet('cluster', [POLICY], [], approvals),
  hash: real.hash,
});

/** What a decider wrote down before it decided under it. */
function known(log: ClusterHistory, set: PolicySetOf<'cluster'> = AS_GIVEN): ClusterHistory {
  log.add(policySetOutput(set));
  return log;
}

/** It decides, and what it orders is carried out. */
function decided(log: ClusterHistory, fact: DecidedFact, set: PolicySetOf<'cluster'> = AS_GIVEN): LogRecord {
  const { decision, command } = log.decide(fact, set);
  if (command !== null) log.carryOut(commandIn(command));
  return decision;
}

const found = (records: readonly LogRecord[]): Promise<Found> => verify(logOf(records));
const names = async (log: ClusterHistory): Promise<string[]> => named(await found(log.records));

/** Somebody approved it, and what was held goes. */
function approved(): ClusterHistory {
  const log = longAfter(begun());
  log.add(stated(GIVEN));
  decided(known(log), held('fact-1'));
  return log;
}

const without = (records: readonly LogRecord[], isGone: (record: LogRecord) => boolean): LogRecord[] => {
  const left = records.filter((record) => !isGone(record));
  if (left.length !== records.length - 1) throw new Error('one record was to be taken away');
  return left;
};
const isApproval = ({ topic, key }: LogRecord): boolean => topic === TOPICS.policies.name && key === KEY;

test('[cluster S7] what goes because somebody approved it is verified, from the approval to the last result', async () => {
  const log = approved();
  const decision = log.records.find(({ topic }) => topic === TOPICS.clusterDecisions.name);
  expect(decision && decisionIn(decision).verdicts).toMatchObject([
    { action: 'delete', rule: 'D14', facts: { approvals: GIVEN.id } },
  ]);
  const verified = await found(log.records);
  expect(named(verified)).toEqual([]);
  expect(verified.counts).toMatchObject({ decisions: 1, verified: 1, commands: 1, removals: 1 });
});

test.each<{ name: string; what: ApprovalRecord['what']; fact: Ownership }>([
  { name: 'all owners of a kind', what: approvedOwners('ConfigMap', OBJECTS), fact: held('fact-1') },
  {
    name: 'an object of a held kind',
    what: approvedObjects('Namespace', { uid: 'x', namespace: '', name: 'x' }),
    fact: ownership({
      candidates: [
        candidate({
          object: { kind: 'Namespace', resource: 'namespaces', namespaced: false, namespace: '' },
          references: [owner('o', { state: 'gone' })],
        }),
      ],
    }),
  },
])('[cluster S7] an approval of $name is verified as that of an owner is', async ({ what, fact }) => {
  const given = approval(what);
  const set = policySet('cluster', [POLICY], [], [given]);
  const log = begun();
  log.add(stated(given));
  decided(known(log, set), fact, set);
  const verified = await found(log.records);
  expect([named(verified), verified.counts.removals]).toEqual([[], 1]);
  const never = longAfter(begun());
  decided(known(never, set), fact, set);
  expect(await names(never)).toEqual(['policies-never-held gc.cluster.decisions@0']);
});

const OLD_JOBS: OwnRule = {
  name: 'old',
  kinds: ['batch/Job'],
  namespaces: ['ns'],
  afterMs: MINUTE,
  propagation: 'Background',
  removalsPerHour: 100,
};

/** Holds pods of missing nodes beyond five, and Jobs that a rule would take too many of. */
const OTHERS = clusterPolicyRecord({
  collectors: ['pod-garbage-collector-controller'],
  limits: { cascade: 5, cascadeOfKind: 5, removalsPerHour: 100 },
  rules: [OLD_JOBS],
});
const ofNoTtl = jobFacts({ ttlSecondsAfterFinished: null });

test.each<{ name: string; what: ApprovalRecord['what']; wider: ApprovalRecord['what']; fact: DecidedFact }>([
  {
    name: 'pods of missing nodes',
    what: approvedPods(60),
    wider: approvedPods(61),
    fact: pods({
      candidates: [podCandidate({ node: { state: 'missing', name: 'n', missingForMs: 60_000 } })],
      totals: { onMissingNodes: 60 },
    }),
  },
  {
    name: 'what a rule takes of a kind',
    what: approvedRule(OLD_JOBS, 'batch/Job', 20),
    wider: approvedRule(OLD_JOBS, 'batch/Job', 21),
    fact: expiry({
      candidates: [expiryCandidate({ facts: ofNoTtl })],
      shares: [{ kind: 'batch/Job', over: 20, objects: 20 }],
    }),
  },
])('[cluster S1, S7, S11] an approval of $name is verified too', async ({ what, wider, fact }) => {
  const given = approval(what);
  const set = policySet('cluster', [OTHERS], [], [given]);
  const log = longAfter(begun(OTHERS));
  log.add(stated(given));
  decided(known(log, set), fact, set);
  const verified = await found(log.records);
  expect([named(verified), verified.counts.removals]).toEqual([[], 1]);
  const never = longAfter(begun(OTHERS));
  decided(known(never, set), fact, set);
  expect(await names(never)).toEqual(['policies-never-held gc.cluster.decisions@0']);
  const others = longAfter(begun(OTHERS));
  others.add(stated(given));
  const forged = policySet('cluster', [OTHERS], [], [approval(wider)]);
  decided(known(others, forged), fact, forged);
  expect(await names(others)).toEqual(['policies-never-held gc.cluster.decisions@0']);
});

describe('forged', () => {
  test('one that nobody gave deviates', async () => {
    const log = longAfter(begun());
    decided(known(log), held('fact-1'));
    expect(await names(log)).toEqual(['policies-never-held gc.cluster.decisions@0']);
  });

  test('one that is wider than what was approved deviates', async () => {
    const wider = policySet('cluster', [POLICY], [], [approval(approvedOwner('o', OBJECTS + 1))]);
    const log = longAfter(begun());
    log.add(stated(GIVEN));
    decided(known(log, wider), held('fact-1', OBJECTS + 1), wider);
    expect(await names(log)).toEqual(['policies-never-held gc.cluster.decisions@0']);
  });

  test('one that is put in its place where sets of policies are told deviates there', async () => {
    const log = begun();
    log.add(stated(GIVEN));
    const wider = approval(approvedOwner('o', OBJECTS + 1));
    const told = { ...policySetRecord(AS_GIVEN), approvals: [wider] };
    log.add({ topic: 'policyVersions', key: told.hash, event: told });
    decided(log, held('fact-1', OBJECTS + 1), passedOffAs([wider]));
    expect(await names(log)).toEqual([
      'policy-changed gc.policy-versions@2',
      'unknown-policy-set gc.cluster.decisions@0',
    ]);
  });

  test.each<{ name: string; over: Partial<ApprovalRecord>; objects?: number }>([
    { name: 'for a narrower cascade', over: { what: approvedOwner('o', OBJECTS - 1) } },
    { name: 'of another owner', over: { what: approvedOwner('p', OBJECTS) } },
    { name: 'in another cluster', over: { cluster: 'c2' } },
    { name: 'in an earlier cluster of this name', over: { clusterInstance: 'another' } },
    { name: 'that had ended', over: { untilMs: held('').takenAt.serverMs } },
    {
      name: 'that may have ended, by the clock of the API server',
      over: { untilMs: held('').takenAt.serverMs + held('').takenAt.spreadMs },
    },
  ])('a removal under an approval $name deviates, with its command', async ({ over }) => {
    const other = approval(GIVEN.what, over);
    const real = policySet('cluster', [POLICY], [], [other]);
    const log = begun();
    log.add(stated(other));
    decided(known(log, real), held('fact-1'), passedOffAs([GIVEN], real));
    const verified = await found(log.records);
    expect(named(verified)).toEqual([
      'decided-differently gc.cluster.decisions@0',
      'not-decided gc.cluster.commands@0',
    ]);
    expect(verified.deviations.first[0]?.message).toContain('in the record');
  });

  test('a record that names another approval than the one that let it go deviates', async () => {
    const other = { ...GIVEN, id: 'approval-2' };
    const log = begun();
    log.add(stated(GIVEN));
    decided(known(log), held('fact-1'), passedOffAs([other]));
    const verified = await found(log.records);
    expect(named(verified)).toEqual(['decided-differently gc.cluster.decisions@0']);
    expect(verified.deviations.first[0]?.message).toContain('approval-2');
  });
});

describe('withdrawn', () => {
  /** What was decided so long after somebody withdrew it, by a decider that does not know. */
  async function decidedAfter(minutes: number): Promise<Found> {
    const log = approved();
    log.add(deletionOutput(KEY));
    log.nowMs += minutes * MINUTE;
    decided(log, held('fact-2'));
    return await found(log.records);
  }

  test('a removal long after it deviates, and names who ended it', async () => {
    const verified = await decidedAfter(11);
    expect(named(verified)).toEqual(['policies-outdated gc.cluster.decisions@1']);
    expect(verified.deviations.first[0]).toMatchObject({
      message: expect.stringContaining('under policies that did not hold any more: an approval ended at '),
      places: [{ topic: TOPICS.clusterDecisions.name }, { topic: TOPICS.policies.name, offset: '2' }],
    });
  });

  test('one that was on its way does not', async () => {
    expect(named(await decidedAfter(9))).toEqual([]);
  });

  test('what is held again without it is as it should be', async () => {
    const log = approved();
    log.add(deletionOutput(KEY));
    longAfter(log);
    const none = policySet('cluster', [POLICY], []);
    expect(decisionIn(decided(log, held('fact-2'), none)).outcome).toBe('nothing-to-do');
    expect(await names(log)).toEqual([]);
  });

  test('by a record that nobody can read, too', async () => {
    const log = approved();
    const broken = log.add(stated({ ...GIVEN, untilMs: GIVEN.approvedAtMs }));
    log.nowMs += 11 * MINUTE;
    decided(log, held('fact-2'));
    const verified = await found(log.records);
    expect(named(verified)).toEqual(['policies-outdated gc.cluster.decisions@1']);
    expect(verified.deviations.first[0]?.places[1]?.offset).toBe(String(broken.offset));
  });

  test('by another approval of the same, which has the width of then', async () => {
    const log = approved();
    log.add(stated({ ...approval(approvedOwner('o', 1_100)), id: 'approval-2' }));
    log.nowMs += 11 * MINUTE;
    decided(log, held('fact-2'));
    const verified = await found(log.records);
    expect(named(verified)).toEqual(['policies-outdated gc.cluster.decisions@1']);
    expect(verified.deviations.first[0]?.message).toContain('an approval began at ');
  });
});

test('a decider that does not believe an approval holds, and that is no deviation', async () => {
  const log = begun();
  log.add(stated(GIVEN));
  longAfter(log);
  decided(log, held('fact-1'), policySet('cluster', [POLICY], []));
  expect(await names(log)).toEqual([]);
});

describe('cut', () => {
  test('a removal whose approval is gone deviates while its end would be known', async () => {
    const cut = without(approved().records, isApproval);
    expect(named(await found(cut))).toEqual(['policies-never-held gc.cluster.decisions@0']);
  });

  test('one whose set of policies nobody tells any more cannot be verified', async () => {
    const isSet = ({ topic, key }: LogRecord) =>
      topic === TOPICS.policyVersions.name && key === AS_GIVEN.hash;
    const verified = await found(without(approved().records, isSet));
    expect(named(verified)).toEqual(['unknown-policy-set gc.cluster.decisions@0']);
  });
});

describe('from an archive', () => {
  /** Verified from an archive of these records, which holds them for ever. */
  async function fromArchive(records: readonly LogRecord[]): Promise<Found> {
    const directory = temporaryDirectory();
    await archived(logOf(records), directory);
    await using log = await openArchiveLog(directory);
    return await verify(log, EVERYTHING, running, false);
  }

  test('[cluster S7] an approval, and its end, are there as on the event log', async () => {
    const log = approved();
    log.add(deletionOutput(KEY));
    const verified = await fromArchive(log.records);
    expect(named(verified)).toEqual([]);
    expect(verified.counts).toMatchObject({ decisions: 1, verified: 1, removals: 1 });
    log.nowMs += 11 * MINUTE;
    decided(log, held('fact-2'));
    expect(named(await fromArchive(log.records))).toEqual(['policies-outdated gc.cluster.decisions@1']);
  });

  test('what went is explained, with the approval that let it go', async () => {
    const directory = temporaryDirectory();
    await archived(logOf(approved().records), directory);
    await using log = await openArchiveLog(directory);
    const request = { name: 'ConfigMap/ns/x', cluster: null, range: EVERYTHING, thereOnly: false };
    const needs = { log, words: ruleWords, onProgress: () => undefined, signal: running };
    expect(await explainCluster(request, needs)).toMatchObject({
      status: 'explained',
      lives: [
        {
          state: 'removed',
          timeline: expect.arrayContaining([
            expect.objectContaining({
              what: 'verdict',
              action: 'delete',
              facts: expect.objectContaining({ approvals: GIVEN.id }),
            }),
          ]),
        },
      ],
    });
  });

  test('one that nobody gave deviates', async () => {
    const log = longAfter(begun());
    decided(known(log), held('fact-1'));
    expect(named(await fromArchive(log.records))).toEqual(['policies-never-held gc.cluster.decisions@0']);
  });

  test('what compaction took before it was archived may have been an approval', async () => {
    const log = approved();
    log.add(deletionOutput(KEY));
    expect(
      named(
        await fromArchive(
          without(log.records, ({ offset, topic }) => topic === TOPICS.policies.name && offset === 1n),
        ),
      ),
    ).toEqual([]);
  });
});

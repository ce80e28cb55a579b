import { expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { makeReport } from '../../../packages/read-model/report.ts';
import { approvalKey } from '../../../schemas/policy/approval.ts';
import { type PauseRecord, type PolicyRecord, pauseKey, policyKey } from '../../../schemas/policy/policy.ts';
import type { PolicySetRecord } from '../../../schemas/policy/policy-set.ts';
import { AuditReport } from '../../../schemas/reports/audit-report.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { approval, approvedOwner } from '../../fixtures/approval.ts';
import { clusterPolicyRecord } from '../../fixtures/cluster.ts';
import { decision } from '../../fixtures/outputs.ts';
import { deletionOutput, EVERY_NODE } from '../../fixtures/policy.ts';
import { HOUR, MINUTE } from '../../fixtures/time.ts';
import { onLog, outgoing, recordOf } from '../../support/logs/log-record.ts';
import { logOf } from '../audit/support/archives.ts';

const T = Date.UTC(2026, 0, 5, 12);
const POLICY = appliedPolicy();
const PAUSE: PauseRecord = {
  type: 'fleetgc.pause',
  version: 1,
  id: 'pause-1',
  selector: { ...EVERY_NODE, clusters: ['prod'] },
  reason: 'disks are moved',
  by: 'ann',
};
const KEY = pauseKey(PAUSE.selector);

const setOf = (policies: readonly PolicyRecord[], pauses: readonly PauseRecord[] = []): PolicySetRecord => {
  const { hash } = policySet('node', policies, pauses);
  const named = policies.map(({ policy: { name }, policyVersion, hash: content }) => ({
    name,
    policyVersion,
    hash: content,
  }));
  return {
    type: 'fleetgc.policy-set',
    version: 1,
    id: `set-${hash}`,
    hash,
    policies: named,
    pauses: [...pauses],
  };
};

const RUNNING = setOf([POLICY]);
const PAUSED = setOf([POLICY], [PAUSE]);
const NO_POLICY = setOf([]);
const PAUSED_WITHOUT = setOf([], [PAUSE]);

const deleted = (key: string) => outgoing(deletionOutput(key));
const deletedUnheld = (key: string) => outgoing(deletionOutput(key, false));
const written = (event: PauseRecord | PolicyRecord) =>
  outgoing({ topic: 'policies', key: event.type === 'fleetgc.pause' ? KEY : event.policy.name, event });
const decidedUnder = ({ hash }: PolicySetRecord, minute: number) =>
  outgoing(nodeOutput('decisions', decision({ id: `d${minute}`, policySetHash: hash })));

const APPROVAL = approval(approvedOwner('o', 3));
const approved = outgoing({ topic: 'policies', key: approvalKey(APPROVAL), event: APPROVAL });

type Step = readonly [
  minute: number,
  what:
    | PolicySetRecord
    | ReturnType<typeof deleted>
    | ReturnType<typeof deletedUnheld>
    | PauseRecord
    | PolicyRecord,
];

/** What `gc.policies` still has, and under what was decided. */
async function reported(steps: readonly Step[]) {
  const facts = [POLICY, RUNNING, PAUSED, NO_POLICY, PAUSED_WITHOUT].map((event) =>
    recordOf({ topic: 'policyVersions', key: event.hash, event }, { timestampMs: T - 24 * HOUR }),
  );
  const records = steps.map(([minute, what]) =>
    onLog(stepRecord(minute, what), { timestampMs: T + minute * MINUTE }),
  );
  const needs = {
    log: logOf([...facts, ...records]),
    range: { fromMs: T, toMs: T + HOUR },
    nowMs: T + HOUR,
    onProgress: () => undefined,
  };
  const report = await makeReport(needs, new AbortController().signal);
  expect(AuditReport.parse(report)).toEqual(report);
  return report;
}

const stepRecord = (minute: number, what: Step[1]) => {
  if ('topic' in what) return what;
  return what.type === 'fleetgc.policy-set' ? decidedUnder(what, minute) : written(what);
};

const at = (minute: number, exact = true) => ({ atMs: T + minute * MINUTE, exact });
const told = { selector: PAUSE.selector, reason: PAUSE.reason, by: 'ann' };

test.each<{ name: string; steps: readonly Step[]; pauses: readonly object[] }>([
  {
    name: 'that its records tell',
    steps: [
      [1, PAUSE],
      [30, deleted(KEY)],
    ],
    pauses: [{ ...told, begun: at(1), ended: at(30) }],
  },
  { name: 'that holds on', steps: [[1, PAUSE]], pauses: [{ ...told, begun: at(1), ended: null }] },
  {
    name: 'that was made before the time',
    steps: [
      [-60, PAUSE],
      [1, deleted(KEY)],
    ],
    pauses: [{ ...told, begun: at(-60), ended: at(1) }],
  },
  {
    name: 'that ended as the time begins',
    steps: [
      [-60, PAUSE],
      [0, deleted(KEY)],
    ],
    pauses: [{ ...told, begun: at(-60), ended: at(0) }],
  },
  {
    name: 'that ended before',
    steps: [
      [-60, PAUSE],
      [-1, deleted(KEY)],
    ],
    pauses: [],
  },
  { name: 'that came after', steps: [[60, PAUSE]], pauses: [] },
  {
    name: 'whose reason was replaced',
    steps: [
      [1, { ...PAUSE, reason: 'old' }],
      [2, PAUSE],
    ],
    pauses: [{ ...told, begun: at(1), ended: null }],
  },
  {
    name: 'of which only the end is left',
    steps: [[1, deleted(KEY)]],
    pauses: [{ selector: null, reason: null, by: null, begun: null, ended: at(1) }],
  },
  {
    name: 'of which only decisions tell',
    steps: [
      [1, RUNNING],
      [2, PAUSED],
      [7, PAUSED],
      [12, RUNNING],
      [17, RUNNING],
    ],
    pauses: [{ ...told, begun: at(2, false), ended: at(12, false) }],
  },
  {
    name: 'of which only decisions tell, from the first on',
    steps: [
      [2, PAUSED],
      [12, RUNNING],
    ],
    pauses: [{ ...told, begun: null, ended: at(12, false) }],
  },
  {
    name: 'and another of which only decisions tell',
    steps: [
      [1, RUNNING],
      [2, PAUSED],
      [7, RUNNING],
      [20, PAUSE],
      [25, PAUSED],
    ],
    pauses: [
      { ...told, begun: at(2, false), ended: at(7, false) },
      { ...told, begun: at(20), ended: null },
    ],
  },
  {
    name: 'that a decider hears of late, and forgets late',
    steps: [
      [1, PAUSE],
      [2, RUNNING],
      [3, PAUSED],
      [20, deleted(KEY)],
      [29, PAUSED],
    ],
    pauses: [{ ...told, begun: at(1), ended: at(20) }],
  },
  {
    name: 'that two deciders hear of within a minute',
    steps: [
      [0, RUNNING],
      [2, PAUSED],
      [2.25, RUNNING],
      [2.5, PAUSED_WITHOUT],
      [3, PAUSED],
    ],
    pauses: [{ ...told, begun: at(2, false), ended: null }],
  },
])('a pause $name', async ({ steps, pauses }) => {
  expect((await reported(steps)).pauses).toEqual(pauses);
});

test.each<{ name: string; steps: readonly Step[]; deletions: readonly object[] }>([
  {
    name: 'as its record tells',
    steps: [
      [-5, POLICY],
      [1, deleted('default')],
    ],
    deletions: [at(1)],
  },
  { name: 'when only that record is left', steps: [[1, deleted('default')]], deletions: [at(1)] },
  {
    name: 'as decisions tell',
    steps: [
      [1, RUNNING],
      [15, NO_POLICY],
      [20, NO_POLICY],
    ],
    deletions: [at(15, false)],
  },
  {
    name: 'before the time',
    steps: [
      [-5, deleted('default')],
      [-1, RUNNING],
    ],
    deletions: [],
  },
  {
    name: 'never',
    steps: [
      [1, RUNNING],
      [15, PAUSED],
    ],
    deletions: [],
  },
])('a policy is deleted $name', async ({ steps, deletions }) => {
  expect((await reported(steps)).policyDeletions).toEqual(
    deletions.map((deletion) => ({ name: 'default', deleted: deletion })),
  );
});

test('a policy for clusters is none of nodes that was deleted, until it is', async () => {
  const record = clusterPolicyRecord();
  const key = policyKey(record);
  const applied = outgoing({ topic: 'policies', key, event: record });
  const deletionsAfter = async (...steps: readonly Step[]) =>
    (await reported([[-5, applied], [1, applied], [20, RUNNING], ...steps])).policyDeletions;
  expect(await deletionsAfter()).toEqual([]);
  expect(await deletionsAfter([30, deleted(key)])).toEqual([{ name: key, deleted: at(30) }]);
});

test('the end of what the topic never held ends what was decided under, and tells of nothing else', async () => {
  const never = await reported([
    [1, deletedUnheld(KEY)],
    [2, deletedUnheld('typo')],
  ]);
  expect([never.pauses, never.policyDeletions]).toEqual([[], []]);
  expect((await reported([[1, deleted(KEY)]])).pauses).toHaveLength(1);

  const { pauses } = await reported([
    [1, PAUSED],
    [30, deletedUnheld(KEY)],
    [40, RUNNING],
  ]);
  expect(pauses).toMatchObject([{ selector: PAUSE.selector, ended: { atMs: T + 30 * MINUTE, exact: true } }]);
});

test('an approval for a cluster, and its end, are no pause and no policy of nodes', async () => {
  const report = await reported([
    [-5, approved],
    [1, approved],
    [10, deleted(approvalKey(APPROVAL))],
    [20, RUNNING],
  ]);
  expect([report.pauses, report.policyDeletions, report.policyChanges]).toEqual([[], [], []]);
});

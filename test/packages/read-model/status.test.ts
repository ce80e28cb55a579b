import { expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { statusLines } from '../../../packages/documents/status.ts';
import type { EventLog, OutgoingRecord } from '../../../packages/log/port.ts';
import { clusterStatus } from '../../../packages/read-model/clusters.ts';
import { unlocatedText } from '../../../packages/read-model/nodes.ts';
import { groupOf, readStatus, SERVICES_FOR } from '../../../packages/read-model/status.ts';
import { statusProblems } from '../../../packages/read-model/status-problems.ts';
import { serviceSource } from '../../../packages/records/publisher.ts';
import type { Decision } from '../../../schemas/events/decision.ts';
import type { FleetStatus } from '../../../schemas/reports/fleet-status.ts';
import { startDecider } from '../../../services/deciders/run.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { decision } from '../../fixtures/outputs.ts';
import { refusedCommand } from '../../fixtures/results.ts';
import { HOUR, MINUTE, NOW } from '../../fixtures/time.ts';
import { decisionLog } from '../../support/logs/decision-log.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { ScriptedLog } from '../../support/logs/scripted-log.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { timedLog } from '../audit/support/timed-log.ts';

const service = (name: string, lag: number) => ({
  name,
  group: `fleetgc-${name}`,
  members: 2,
  lag,
  topics: { 'gc.node.inventory': lag },
  waitingSinceMs: lag === 0 ? null : NOW - MINUTE,
});

const well = (over: Partial<FleetStatus> = {}): FleetStatus => ({
  type: 'fleetgc.status',
  version: 1,
  readAtMs: NOW,
  log: {
    kind: 'kafka',
    servers: ['kafka-1:9092', 'kafka-2:9092'],
    topicProblems: [],
    newestFactMs: NOW - MINUTE,
  },
  services: ['pressure', 'container-gc', 'image-gc'].map((name) => service(name, 3)),
  policies: [{ name: 'default', policyVersion: 1, mode: 'enforce', nodes: 5 }],
  pauses: [],
  unreadablePolicies: 0,
  deadLetters: { total: 0, redriven: 0, byCause: {} },
  nodes: { heard: 5, silent: 0, withoutPolicy: 0, warned: 0 },
  clusters: [],
  warnings: [],
  problems: [],
  ...over,
});
const problemsOf = (over: Partial<FleetStatus>, groupsUnknown: string | null = null) =>
  statusProblems(well(over), { groups: groupsUnknown, signatures: null });

test('where all is well it says so, what it did not look at, and how it stands', () => {
  expect(statusProblems(well(), { groups: null, signatures: null })).toEqual([]);
  const lines = statusLines(well());
  expect(lines[0]).toMatch(/^All is running as it should\. .*"fleetgc audit verify" says\.$/);
  expect(lines).toContain('Log: Kafka, 2 brokers: kafka-1:9092, kafka-2:9092');
  expect(lines.find((line) => line.startsWith('pressure'))).toMatch(/^pressure +2 +3 +gc.node.inventory 3$/);
});

test('what somebody else wrote rewrites nothing on the terminal', () => {
  const lines = statusLines(well({ problems: ['prod/a: \u001b[2J\nAll is running'] }));
  expect(lines[0]).toBe('! prod/a: \\u{1b}[2J\\u{a}All is running');
});

test.each([
  {
    name: 'a service far behind',
    over: { services: [service('image-gc', 5_000)] },
    told: /^image-gc is 5000 messages behind/,
  },
  {
    name: 'a service that stands still',
    over: { services: [{ ...service('pressure', 36), waitingSinceMs: NOW - 12 * MINUTE }] },
    told: /^pressure is not done with a message that came 12 minutes ago: it stands still/,
  },
  {
    name: 'a service that stands still from the start',
    over: { services: [{ ...service('pressure', 0), topics: null }] },
    told: /^pressure runs, and has not finished any message yet/,
  },
  {
    name: 'a service that nobody runs',
    over: { services: [{ ...service('pressure', 0), members: 0 }] },
    told: /^pressure does not run: nothing is decided there/,
  },
  {
    name: 'policies that nobody can read',
    over: { unreadablePolicies: 2 },
    told: /^2 records of gc.policies cannot be read/,
  },
  {
    name: 'a cluster whose last report somebody may hide',
    over: {
      warnings: [
        { subject: 'c1', kind: 'position-refused' as const, message: unlocatedText('position-refused', 'x') },
      ],
    },
    told: /^c1: its last report cannot be found, and somebody may hide it: see fleetgc audit verify \(x\)\.$/,
  },
  {
    name: 'dead letters',
    over: { deadLetters: { total: 3, redriven: 1, byCause: {} } },
    told: /^2 messages of the last day/,
  },
  {
    name: 'an event log that stands still',
    over: {
      log: { ...well().log, newestFactMs: NOW - 12 * MINUTE },
      nodes: { heard: 0, silent: 5, withoutPolicy: 0, warned: 5 },
    },
    told: /^The event log stands still: nothing has come from any node or cluster for 12 minutes, and 5 nodes were heard in the last day\. Do the nodes run, and do the brokers take what they send\?$/,
  },
  {
    name: 'an embedded log that stands still',
    over: { log: { ...well().log, kind: 'embedded' as const, newestFactMs: NOW - 11 * MINUTE } },
    told: /^The event log stands still: .* Does fleetgc run still run, and can it write to the file\?$/,
  },
  {
    name: 'silent nodes',
    over: {
      warnings: ['a', 'b', 'c', 'd'].map(
        (node) => ({ subject: `prod/${node}`, kind: 'silent', message: 'it is' }) as const,
      ),
    },
    told: /^4 nodes are not heard any more: prod\/a, prod\/b, prod\/c and 1 more \(fleetgc nodes\)\.$/,
  },
  {
    name: 'nodes that stay above a threshold',
    over: {
      warnings: ['a', 'b'].map(
        (node) => ({ subject: `prod/${node}`, kind: 'above-threshold', message: 'it is' }) as const,
      ),
    },
    told: /^2 nodes are above a threshold of the policy and not relieved, or meet one again and again: prod\/a, prod\/b\. /,
  },
  {
    name: 'a node that stays above a threshold in dry-run',
    over: {
      warnings: [{ subject: 'prod/a', kind: 'above-threshold-dry-run', message: 'it is' } as const],
    },
    told: /^1 node is above a threshold .*, and the policy says dry-run, so nothing is removed there: prod\/a\.$/,
  },
  {
    name: 'a clock',
    over: { warnings: [{ subject: 'prod/a', kind: 'clock', message: 'its clock is wrong' } as const] },
    told: /^prod\/a: its clock is wrong\.$/,
  },
  {
    name: 'a policy that holds for nobody',
    over: { policies: [{ name: 'web', policyVersion: 1, mode: 'enforce', nodes: 0 } as const] },
    told: /^Policy web holds for no node that was heard in the last day: are the names in its selector right/,
  },
  {
    name: 'a pause that stops nobody',
    over: {
      pauses: [
        {
          selector: { clusters: [], nodeNames: ['nosuch*'], pools: [], nodeLabels: {} },
          reason: '',
          sinceMs: NOW,
          nodes: 0,
        },
      ],
    },
    told: /The pause of node nosuch\* is for no node that was heard in the last day: are the names right\?$/,
  },
  {
    name: 'nodes without a policy',
    over: { nodes: { heard: 5, silent: 0, withoutPolicy: 2, warned: 0 } },
    told: /^2 nodes keep everything/,
  },
])('$name is a problem', ({ over, told }) => {
  expect(problemsOf(over)).toContainEqual(expect.stringMatching(told));
});

test('that nobody may ask for groups is told', () => {
  expect(problemsOf({}, 'no rights')).toEqual(['The progress of the services is unknown: no rights']);
});

test('the groups are those of the services', async () => {
  const { deps } = await decisionLog();
  const groups = await Promise.all(
    SERVICES_FOR.node.map(async (name) => {
      const log = new ScriptedLog();
      await startDecider(name, { ...deps, log });
      return log.subscription?.group;
    }),
  );
  expect(groups.toSorted()).toEqual(SERVICES_FOR.node.map(groupOf).toSorted());
});

test('a service that is there and cannot decide is told with how long its oldest message waits', async () => {
  const { log, publishAt } = await timedLog();
  const stats = (id: string) => outgoing(nodeOutput('diskStats', diskStats({}, { id })));
  await publishAt(NOW - HOUR, stats('done'));
  let taken = 0;
  await using _member = await log.subscribe(
    {
      group: groupOf('pressure'),
      topics: ['gc.node.disk-stats'],
      start: 'earliest',
      assignment: { kind: 'shared' },
    },
    async () => {
      taken += 1;
      if (taken > 1) throw new Error('the policies cannot be read');
    },
  );
  await waitUntil('the first message', 5_000, () => taken === 1);
  await publishAt(NOW - 20 * MINUTE, stats('left'));
  await publishAt(NOW, stats('left as well'));
  await waitUntil('the second message', 5_000, () => taken > 1);
  const status = await readStatus(
    { roots: null, log, kind: 'embedded', nowMs: NOW, onProgress: () => undefined },
    new AbortController().signal,
  );
  expect(status.services[0]).toMatchObject({ name: 'pressure', lag: 2, waitingSinceMs: NOW - 20 * MINUTE });
});

test.each([
  { name: 'its last command', agoMs: MINUTE, later: null, held: true },
  { name: 'a command before its last one', agoMs: 2 * MINUTE, later: 'expired', held: false },
  { name: 'a command of an hour ago', agoMs: HOUR, later: null, held: false },
] as const)('a node that refused $name as held is told: $held', async ({ agoMs, later, held }) => {
  const { log, publishAt } = await timedLog();
  const refused = (id: string, reason: 'held' | 'expired') =>
    outgoing(
      nodeOutput(
        'results',
        refusedCommand({ id, result: { outcome: 'refused', reason, message: `said\n ${reason}` } }),
      ),
    );
  await publishAt(NOW - agoMs, refused('first', 'held'));
  if (later) await publishAt(NOW - MINUTE, refused('second', later));
  const status = await readStatus(
    { roots: null, log, kind: 'embedded', nowMs: NOW, onProgress: () => undefined },
    new AbortController().signal,
  );
  expect(status.warnings).toEqual(
    held ? [{ subject: 'prod/web-1', kind: 'held', message: 'said held' }] : [],
  );
  expect(status.problems.filter((problem) => problem.includes('as held: prod/web-1.'))).toHaveLength(
    held ? 1 : 0,
  );
});

function tooCostly(id: string, over: Partial<Decision> = {}): OutgoingRecord {
  const event = decision({ id, outcome: 'too-costly', ...over });
  const record = outgoing(nodeOutput('decisions', event));
  return { ...record, headers: { ...record.headers, ce_source: serviceSource(event.decider.name) } };
}
const fleetStatus = (log: EventLog) =>
  readStatus(
    { roots: null, log, kind: 'embedded', nowMs: NOW, onProgress: () => undefined },
    new AbortController().signal,
  );

test.each([
  { name: 'the last one', agoMs: MINUTE, later: null, told: true },
  {
    name: 'the last one of this decider',
    agoMs: 2 * MINUTE,
    later: { decider: { name: 'container-gc', version: '1' } } as const,
    told: true,
  },
  { name: 'the one before the last', agoMs: 2 * MINUTE, later: {}, told: false },
  { name: 'one of an hour ago', agoMs: HOUR, later: null, told: false },
])('[P10] a node of which $name was too costly to decide is told: $told', async ({ agoMs, later, told }) => {
  const { log, publishAt } = await timedLog();
  await publishAt(NOW - agoMs, tooCostly('first'));
  if (later) await publishAt(NOW - MINUTE, tooCostly('second', { outcome: 'nothing-to-do', ...later }));
  const status = await fleetStatus(log);
  expect(status.warnings.map(({ subject, kind }) => [subject, kind])).toEqual(
    told ? [['prod/web-1', 'too-costly']] : [],
  );
  expect(
    status.problems.filter((problem) =>
      /^Decisions about 1 node were too costly .*: prod\/web-1\..*fewer patterns/.test(problem),
    ),
  ).toHaveLength(told ? 1 : 0);
});

test('[P10] what only looks like a decision that was too costly is not told', async () => {
  const { log, publishAt } = await timedLog();
  await publishAt(
    NOW - MINUTE,
    tooCostly('first', { outcome: 'not-believed', notBelieved: [{ rule: 'too-costly', message: '' }] }),
  );
  expect((await fleetStatus(log)).warnings).toEqual([]);
});

test('[P10] a cluster of which a decision would be too costly is told', () => {
  const held = { cluster: 'c1', clusterInstance: 'i', heardAtMs: NOW, proof: 'signed', holds: [] } as const;
  const reporting = { census: null, unanswered: { commands: 0, sinceMs: null }, heardMs: NOW };
  const warnedOf = (tooCostly: boolean) =>
    clusterStatus(
      { ...reporting, cluster: 'c1', clusterInstance: 'i', held: { ...held, tooCostly } },
      null,
      NOW,
    );
  expect(warnedOf(false).warnings).toEqual([]);
  const status = warnedOf(true);
  expect(status.warnings.map(({ kind }) => kind)).toEqual(['too-costly']);
  expect(
    problemsOf({ clusters: [{ ...status, policy: { name: 'p', policyVersion: 1, mode: 'enforce' } }] }),
  ).toEqual([expect.stringMatching(/^Decisions about 1 cluster are too costly .*: c1\. /)]);
});

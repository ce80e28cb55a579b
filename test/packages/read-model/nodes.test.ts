import { expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { nodeLines } from '../../../packages/documents/nodes.ts';
import { readFleetNodes } from '../../../packages/read-model/nodes.ts';
import { readReportingNodes } from '../../../packages/read-model/reporting-nodes.ts';
import type { Bucket, DiskStats } from '../../../schemas/events/disk-stats.ts';
import { FleetNodes } from '../../../schemas/reports/fleet-nodes.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { filesystems } from '../../fixtures/filesystems.ts';
import { pauseRecord } from '../../fixtures/policy.ts';
import { pressureUnrelieved } from '../../fixtures/results.ts';
import { DAY, HOUR, instant, MINUTE, NOW, SECOND } from '../../fixtures/time.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { positionsOn } from '../../support/logs/positions.ts';
import { timedLog } from '../audit/support/timed-log.ts';

const SIGNAL = new AbortController().signal;
const NO_POLICIES = policySet('node', [], []);

/** A log on which nodes were heard, so long before `NOW`. */
async function heardLog(heard: readonly (readonly [agoMs: number, over: Partial<DiskStats>])[]) {
  const { log, publishAt } = await timedLog();
  const sorted = heard.toSorted(([a], [b]) => b - a);
  for (const [index, [agoMs, over]] of sorted.entries()) {
    const atMs = NOW - agoMs;
    const takenAt = instant({ wallTimeMs: atMs, sinceBootMs: 2 * DAY - agoMs });
    const event = diskStats({}, { id: `stats-${index}`, takenAt, ...over });
    await publishAt(atMs, outgoing(nodeOutput('diskStats', event)));
  }
  for (const { atMs, record } of await positionsOn(log, 'diskStats')) await publishAt(atMs, record);
  const needs = { log, nowMs: NOW, onProgress: () => undefined };
  return { log, publishAt, nodes: (policies = NO_POLICIES) => readFleetNodes(needs, policies, SIGNAL) };
}

const everyMinute = (fromAgoMs: number, toAgoMs: number, over: Partial<DiskStats>) =>
  Array.from(
    { length: Math.floor((fromAgoMs - toAgoMs) / MINUTE) },
    (_, index) => [fromAgoMs - index * MINUTE, over] as const,
  );

test('every node of the last day is there, by its newest statistics, with what holds for it', async () => {
  const { nodes } = await heardLog([
    [MINUTE, { fleetgcVersion: '1.2.3', nodeLabels: { disk: 'small' } }],
    [2 * MINUTE, { fleetgcVersion: '1.2.2' }],
    [SECOND, { node: 'web-2' }],
    [SECOND, { node: 'far-1', cluster: 'edge' }],
  ]);
  const policy = appliedPolicy({
    name: 'default',
    selector: { clusters: ['prod'], nodeNames: [], pools: [], nodeLabels: {} },
  });
  const pause = pauseRecord({
    selector: { clusters: [], nodeNames: ['web-2'], pools: [], nodeLabels: {} },
    reason: 'upgrade',
  });
  const found = await nodes(policySet('node', [policy], [pause]));

  expect(FleetNodes.parse(found)).toEqual(found);
  expect(found.nodes.map(({ cluster, node }) => `${cluster}/${node}`)).toEqual([
    'edge/far-1',
    'prod/web-1',
    'prod/web-2',
  ]);
  expect(found.nodes[1]).toMatchObject({
    heardMs: NOW - MINUTE,
    isSilent: false,
    filesystems: { imagefs: { usedPercent: 90, capacityBytes: '1000', availableBytes: '100' } },
    policy: { name: 'default', mode: policy.policy.mode },
    pausedBecause: null,
    versions: { fleetgc: '1.2.3' },
    warnings: [],
  });
  expect(found.nodes[0]).toMatchObject({ policy: null, versions: { fleetgc: null } });
  expect(found.nodes[2]).toMatchObject({ policy: { name: 'default' }, pausedBecause: 'upgrade' });
});

test('a node that fell silent is found in the day before, with the moment in which it was heard last', async () => {
  const lastMs = 3 * HOUR + 20 * MINUTE;
  const { nodes } = await heardLog([
    ...everyMinute(5 * HOUR, lastMs - MINUTE, { node: 'gone' }),
    ...everyMinute(3 * MINUTE, 0, { node: 'here' }),
  ]);
  const { nodes: found } = await nodes();
  expect(found.map(({ node, isSilent, heardMs }) => [node, isSilent, NOW - heardMs])).toEqual([
    ['gone', true, lastMs],
    ['here', false, MINUTE],
  ]);
  expect(found[0]?.warnings).toMatchObject([{ kind: 'silent' }]);
});

test.each([
  { endedAgo: 6 * MINUTE, ranFor: 3 * MINUTE },
  { endedAgo: 25 * MINUTE, ranFor: 2 * MINUTE },
  { endedAgo: 7 * HOUR, ranFor: MINUTE },
  { endedAgo: 16 * HOUR, ranFor: 40 * MINUTE },
])(
  'a node that ran only between two samples is heard: $ranFor ms, until $endedAgo ms ago',
  async ({ endedAgo, ranFor }) => {
    const { nodes } = await heardLog(everyMinute(endedAgo + ranFor, endedAgo - MINUTE, { node: 'brief' }));
    const { nodes: found } = await nodes();
    expect(found.map(({ node, isSilent, heardMs }) => [node, isSilent, NOW - heardMs])).toEqual([
      ['brief', true, endedAgo],
    ]);
  },
);

test('not all of the log is read, however much there is', async () => {
  const { log } = await heardLog(everyMinute(5 * HOUR, 0, {}));
  let read = 0;
  const counting: Pick<typeof log, 'read'> = {
    read: async function* (request, signal) {
      for await (const event of log.read(request, signal)) {
        if (event.kind === 'record') read++;
        yield event;
      }
    },
  };
  const heard = await readReportingNodes({ log: counting, nowMs: NOW, onProgress: () => undefined }, SIGNAL);
  expect(heard.nodes.size).toBe(1);
  expect(read).toBeLessThan(40);
});

test('wrong clocks, two machines with one name and a misspelt cluster are warned of', async () => {
  const other = '0d7a4e5a-7a61-4c3f-9a55-3d3c1f0e1b2c';
  const ahead = { takenAt: instant({ wallTimeMs: NOW + DAY }) };
  const { nodes } = await heardLog([
    [3 * MINUTE, { node: 'twin' }],
    [2 * MINUTE, { node: 'twin', nodeInstance: other }],
    [MINUTE, { node: 'twin' }],
    [MINUTE, { node: 'early', ...ahead }],
    [MINUTE, { node: 'fine' }],
    [MINUTE, { node: 'stray', cluster: 'prdo' }],
  ]);
  const found = await nodes();
  expect(found.nodes.map(({ node, warnings }) => [node, ...warnings.map(({ kind }) => kind)])).toEqual([
    ['stray', 'stray-cluster'],
    ['early', 'clock'],
    ['fine'],
    ['twin', 'two-machines'],
  ]);
});

test('a disk that nobody can read is warned of', async () => {
  const nothing = { nodefs: null, imagefs: null, containerfs: null };
  const { nodes } = await heardLog([[MINUTE, { filesystems: nothing }]]);
  const found = await nodes();
  expect(found.nodes[0]?.warnings).toMatchObject([{ kind: 'no-reading' }]);
  expect(nodeLines(found, false)[1]).toMatch(
    /prod +web-1 +1m ago +unknown +\(none\) +keeps all +unknown +no-reading/,
  );
});

test('the table has a line for each node and a sentence for each warning; wide has more columns', async () => {
  const { nodes } = await heardLog([
    [MINUTE, { nodeLabels: { pool: 'a' } }],
    [HOUR - MINUTE, { node: 'web-2' }],
  ]);
  const found = await nodes();
  const [header, first, second, , warning] = nodeLines(found, false);
  expect(header).toMatch(/^CLUSTER +NODE +HEARD +USED +POLICY +MODE +VERSION +WARNINGS$/);
  expect(first).toMatch(/^prod +web-1 +1m ago +90 % /);
  expect(second).toContain('silent');
  expect(warning).toMatch(/^prod\/web-2: it is not heard any more/);
  expect(nodeLines(found, true)[1]).toContain('pool=a');
});

/** What was free in each of the last `minutes`, and is free now. */
const freeFor = (minutes: number, free: number, now = free): Partial<DiskStats> => {
  const bucket = (index: number): Bucket => [
    2 * DAY - (minutes - index) * MINUTE,
    `${free}`,
    `${free}`,
    `${free}`,
  ];
  const history = {
    availableBytes: Array.from({ length: minutes }, (_, index) => bucket(index)),
    inodesFree: [],
  };
  return {
    takenAt: instant({ wallTimeMs: NOW, sinceBootMs: 2 * DAY }),
    filesystems: filesystems({ availableBytes: `${now}` }),
    history: { nodefs: history, imagefs: history, containerfs: history },
  };
};

test.each([
  { name: 'long, in dry-run', over: freeFor(40, 100), mode: 'dry-run', told: 'above-threshold-dry-run' },
  { name: 'long, in enforce', over: freeFor(40, 0), mode: 'enforce', told: 'above-threshold' },
  { name: 'shortly', over: freeFor(10, 100), mode: 'enforce', told: null },
  { name: 'long, but not now', over: freeFor(40, 100, 500), mode: 'enforce', told: null },
  { name: 'only now', over: freeFor(40, 500, 100), mode: 'enforce', told: null },
  { name: 'never', over: freeFor(40, 500), mode: 'dry-run', told: null },
] as const)(
  'a node that met its threshold is warned of when it lasts: $name',
  async ({ over, mode, told }) => {
    const { nodes } = await heardLog([[SECOND, over]]);
    const found = await nodes(policySet('node', [appliedPolicy({ mode })], []));
    expect(FleetNodes.parse(found).nodes[0]?.warnings.map(({ kind }) => kind)).toEqual(told ? [told] : []);
    if (told)
      expect(found.nodes[0]?.warnings[0]?.message).toMatch(
        /fs met a threshold of policy \S+ 40 minutes ago and has not reached the target since/,
      );
  },
);

test('a node that met its threshold until it fell silent is only told as silent', async () => {
  const { nodes } = await heardLog([[2 * HOUR, freeFor(40, 100)]]);
  const found = await nodes(policySet('node', [appliedPolicy()], []));
  expect(found.nodes[0]?.warnings.map(({ kind }) => kind)).not.toContain('above-threshold');
});

test.each(['results', 'decisions'] as const)(
  'a node is warned of as soon as a reclaim ended above its target, as %s tell, and no longer once it has the target',
  async (topic) => {
    const policies = policySet('node', [appliedPolicy({ mode: 'enforce' })], []);
    const warned = async (over: Partial<DiskStats>, agoMs: number) => {
      const { nodes, publishAt } = await heardLog([[SECOND, over]]);
      await publishAt(NOW - agoMs, outgoing(nodeOutput(topic, pressureUnrelieved())));
      return (await nodes(policies)).nodes[0]?.warnings;
    };
    expect(await warned(freeFor(2, 100), MINUTE)).toMatchObject([
      {
        kind: 'above-threshold',
        message: expect.stringMatching(
          /^a reclaim has ended above its target: \w+fs still has less free than/,
        ),
      },
    ]);
    expect(await warned(freeFor(2, 100, 500), MINUTE)).toEqual([]);
    expect(await warned(freeFor(2, 100), HOUR)).toEqual([]);
  },
);

test('of a fleet without pressure no result and no decision is read', async () => {
  const { log } = await heardLog([[SECOND, freeFor(40, 500)]]);
  const topics = new Set<string>();
  const watching: Pick<typeof log, 'read'> = {
    read: (request, signal) => {
      topics.add(request.topic);
      return log.read(request, signal);
    },
  };
  const policies = policySet('node', [appliedPolicy()], []);
  await readFleetNodes({ log: watching, nowMs: NOW, onProgress: () => undefined }, policies, SIGNAL);
  expect([...topics]).toEqual(['gc.node.disk-stats', 'gc.latest-facts']);
});

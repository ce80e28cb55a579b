import fc from 'fast-check';
import { expect, test } from 'vitest';
import { POLICY } from '../../../../lab/sim/api-server/objects.ts';
import { policySet } from '../../../../packages/decision/policy-set.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { PolicyRecord } from '../../../../schemas/policy/policy.ts';
import { PolicyObjectStatus } from '../../../../schemas/policy/policy-object.ts';
import { PolicyReconciler, writeChanges } from '../../../../services/cluster/policy-controller/handler.ts';
import { reachesOf, statusOf } from '../../../../services/cluster/policy-controller/object-status.ts';
import { planWrites } from '../../../../services/cluster/policy-controller/plan-writes.ts';
import {
  POLICY_FORM,
  type PolicyObject,
  writtenPolicy,
} from '../../../../services/cluster/policy-controller/written-policy.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { EVERY_NODE } from '../../../fixtures/policy.ts';
import { madeUpPositions } from '../../../support/logs/made-up-positions.ts';
import { runs } from '../../../support/property-runs.ts';
import { standingClock } from '../../../support/standing-clock.ts';
import { ControlledCluster } from './support/controlled-cluster.ts';
import { GuardedLog } from './support/guarded-log.ts';

const NEVER = new AbortController().signal;
const IDENTITY = { cluster: 'a', clusterInstance: 'instance-of-a' };

/** As an API server tells it. */
function objectWith(spec: unknown, name = 'web'): PolicyObject {
  const metadata = { name, uid: `uid-of-${name}`, resourceVersion: '1', generation: 1 };
  const object = POLICY_FORM.read({ metadata, spec });
  if (object === null) throw new Error('it is no object');
  return object;
}
const objectOf = (spec: string, name?: string): PolicyObject => objectWith(JSON.parse(spec), name);

test.each([
  '{"mode":"enforce","__proto__":{"selector":{"pools":["web"]}}}',
  '{"mode":"enforce","selector":{"__proto__":{"pools":["web"]}}}',
  '{"mode":"enforce","keep":{"__proto__":{"images":["web"]}}}',
  '{"mode":"enforce","keep":{"labels":{"__proto__":"x"}}}',
  '{"mode":"enforce","selector":{"nodeLabels":{"__proto__":"x"}}}',
])('a setting of any name is read or refused, and never passed over: %s', (spec) => {
  expect(writtenPolicy(objectOf(spec), IDENTITY).kind).toBe('invalid');
});

const PIECES = [
  '\r',
  '\n',
  '\u0085',
  '\u2028',
  '\ufeff',
  ' ',
  '\t',
  '#',
  ': ',
  '- ',
  '---\n',
  '"',
  "'",
  '\\',
  '&a',
  '*a',
];
const WORDS = [
  '~',
  'null',
  'yes',
  '0x1',
  '1e3',
  '.inf',
  '2001-01-01',
  '<<',
  '!!str',
  '|',
  '>',
  '%',
  '12:30:45',
  'é',
  'a',
];

test('whatever a spec says stands on the log as it is written there, character by character, or is refused', () => {
  const text = fc
    .array(fc.constantFrom(...PIECES, ...WORDS), { minLength: 1, maxLength: 6 })
    .map((pieces) => pieces.join(''));
  const texts = fc.dictionary(text, text, { minKeys: 1, maxKeys: 3, noNullPrototype: true });
  fc.assert(
    fc.property(texts, texts, fc.array(text, { minLength: 1, maxLength: 3 }), (labels, nodeLabels, pools) => {
      const spec = { mode: 'enforce', keep: { labels }, selector: { nodeLabels, pools } };
      const written = writtenPolicy(objectWith(spec), IDENTITY);
      if (written.kind === 'policy')
        expect(written.record.policy).toMatchObject({
          keep: { labels },
          selector: { nodeLabels, pools, clusters: ['a'] },
        });
    }),
    runs(2_000),
  );
  const labels = { app: ' \n' };
  expect(writtenPolicy(objectWith({ mode: 'enforce', keep: { labels } }), IDENTITY)).toMatchObject({
    kind: 'policy',
    record: { policy: { keep: { labels } } },
  });
});

test('of a spec with thousands of mistakes no more are told than there is room for', () => {
  const digests = JSON.stringify(Array.from({ length: 10_000 }, () => 'sha'));
  const written = writtenPolicy(objectOf(`{"mode":"enforce","keep":{"digests":${digests}}}`), IDENTITY);
  expect(written.kind === 'invalid' && written.problems.length).toBe(20);
});

test('a spec that is larger than any policy is not kept, whatever it is made of', () => {
  const many = JSON.stringify(Array.from({ length: 100_000 }, () => ''));
  const long = JSON.stringify('x'.repeat(200_001));
  const keys = JSON.stringify(
    Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`setting-${at}`, 1])),
  );
  for (const spec of [`{"keep":{"images":${many}}}`, `{"mode":${long}}`, keys])
    expect(objectOf(spec).spec).toBeNull();
});

test('a status that somebody filled is not kept, and is cleared away', async () => {
  standingClock();
  const guarded = await GuardedLog.open();
  const a = await ControlledCluster.begin('a', guarded);
  a.write('web', { mode: 'dry-run' });
  await a.pass();
  const before = a.status('web');
  const junk = { first: 'x'.repeat(150_000), second: 'x'.repeat(150_000), policyVersion: 7 };
  a.cluster.patchStatus(POLICY, { namespace: '', name: 'web' }, { status: junk }, false);
  const filled = a.cluster.store.get(POLICY, { namespace: '', name: 'web' });
  expect(Object.keys(POLICY_FORM.read(filled)?.statusAsRead ?? {})).toEqual(
    expect.arrayContaining(['first', 'second']),
  );
  expect(JSON.stringify(POLICY_FORM.read(filled)).length).toBeLessThan(10_000);
  await a.pass();
  expect(a.status('web')).toMatchObject({ policyVersion: 1, conditions: before.conditions });
});

test('nothing is changed while all objects together are more than the nodes of a fleet should read', async () => {
  const guarded = await GuardedLog.open();
  const a = await ControlledCluster.begin('a', guarded);
  a.write('web', { mode: 'dry-run' });
  await a.pass();
  a.write('web', { mode: 'enforce' });
  const images = Array.from({ length: 700 }, (_, at) => `registry.example/${'x'.repeat(150)}/${at}`);
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
    a.write(name, { mode: 'enforce', keep: { images } });
  await expect(a.pass()).rejects.toThrow('more than 1000000 characters');
  const { policies } = await guarded.stored();
  expect([...policies.keys(), policies.get('a..web')?.policy.mode]).toEqual(['a..web', 'dry-run']);
  a.delete('i');
  expect(await a.pass()).toMatchObject({ applied: 9, problem: null });
});

test('behind the address of a cluster another one comes up: what the first one brought stays', async () => {
  const guarded = await GuardedLog.open();
  const a = await ControlledCluster.begin('a', guarded);
  const other = await ControlledCluster.begin('a', guarded);
  a.write('web', { mode: 'dry-run' });
  await a.pass();
  a.moved = other.connection;
  await expect(a.pass()).rejects.toThrow('that of another cluster now');
  expect([...(await guarded.stored()).policies.keys()]).toEqual(['a..web']);
});

test('who has lost its turn writes nothing more', async () => {
  const names = ['x', 'y', 'z'];
  const objects = names.map((name) => objectOf('{"mode":"enforce"}', name));
  const stop = new AbortController();
  const published: string[] = [];
  const guarded = await GuardedLog.open();
  const a = await ControlledCluster.begin('a', guarded);
  const openWriter: ControlledCluster['policies']['openWriter'] = async (signal) => {
    const writer = await a.policies.openWriter(signal);
    const publish: typeof writer.log.publish = async (records) => {
      published.push(...records.filter(({ topic }) => topic === 'gc.policies').map(({ key }) => key));
      if (published.length > 0) stop.abort();
      return madeUpPositions(records);
    };
    return { ...writer, log: { publish } };
  };
  const plan = planWrites({ objects, standing: [], identity: IDENTITY });
  const { applied } = await writeChanges(
    plan,
    { policies: { ...a.policies, openWriter }, logger: a.parts.logger },
    stop.signal,
  );
  expect([published, applied]).toEqual([['a..x'], 1]);
});

test('an object is ready only where the log says what is written there', () => {
  const object = objectOf('{"mode":"enforce"}');
  const before = writtenPolicy(objectOf('{"mode":"dry-run"}'), IDENTITY);
  if (before.kind !== 'policy') throw new FleetGcError('INTERNAL', 'it is no policy');
  const { verdicts } = planWrites({ objects: [object], standing: [before.record], identity: IDENTITY });
  const [verdict] = verdicts;
  if (verdict === undefined) throw new FleetGcError('INTERNAL', 'nothing was said of it');
  const standing = { policyVersion: 1, appliedAtMs: null };
  const { conditions } = statusOf({ verdict, standing, failure: null, reach: null, nowMs: 0 });
  expect(conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`)).toEqual([
    'Accepted=True Valid',
    'Ready=False NotWritten',
  ]);
});

test('who changes an object again and again has the disks of the fleet read for it once', async () => {
  const guarded = await GuardedLog.open();
  const a = await ControlledCluster.begin('a', guarded);
  await guarded.hear('a', 'web-1');
  const clock = { nowMs: 0 };
  let reads = 0;
  const read: typeof guarded.log.read = (request, signal) => {
    reads += Number(request.topic === 'gc.node.disk-stats');
    return guarded.log.read(request, signal);
  };
  const sources = { ...a.parts.sources, monotonicNow: () => clock.nowMs };
  const reconciler = new PolicyReconciler({ ...a.parts, log: { read }, sources });
  const change = async (mode: string): Promise<void> => {
    a.write('web', { mode });
    await a.policies.catchUp();
    await reconciler.pass(NEVER);
  };
  await change('dry-run');
  const once = reads;
  for (const mode of ['enforce', 'dry-run', 'enforce']) await change(mode);
  expect([reads, a.status('web').nodesSelected]).toEqual([once, 1]);
  clock.nowMs += 30_000;
  await guarded.hear('a', 'web-2');
  await change('dry-run');
  expect([reads, a.status('web').nodesSelected]).toEqual([2 * once, 2]);
});

test.each([9e15, 8e15, -1e15, Number.NaN])(
  'a record that its writer dated at %d has no time in the status, and ends nothing',
  (appliedAtMs) => {
    const object = objectOf('{"mode":"enforce"}');
    const { verdicts } = planWrites({ objects: [object], standing: [], identity: IDENTITY });
    for (const verdict of verdicts) {
      const told = { standing: { policyVersion: 1, appliedAtMs }, failure: null, reach: null, nowMs: 0 };
      const status = statusOf({ verdict, ...told });
      expect(PolicyObjectStatus.parse(status).lastChangeTime).toBeUndefined();
    }
  },
);

test('to count nodes each is held against each policy a few times, however many policies there are', async () => {
  const record = (at: number): PolicyRecord =>
    appliedPolicy({ name: `a..p${at}`, priority: -1_000 - at, selector: { ...EVERY_NODE, clusters: ['a'] } });
  const policies = Array.from({ length: 100 }, (_, at) => record(at));
  let looks = 0;
  const nodes = Array.from({ length: 10 }, (_, at) => ({
    node: `web-${at}`,
    nodeLabels: {},
    get cluster() {
      looks += 1;
      return 'a';
    },
  }));
  const reaches = await reachesOf(
    policies.map(({ policy }) => policy.name),
    nodes,
    { set: policySet('node', policies, []), yieldToEventLoop: async () => undefined },
  );
  expect(looks).toBeLessThanOrEqual(3 * nodes.length * policies.length);
  expect(reaches.get('a..p0')).toMatchObject({ selected: 10, following: 10 });
  expect(reaches.get('a..p7')).toEqual({
    selected: 10,
    following: 0,
    paused: 0,
    others: new Map([['a..p0', 10]]),
  });
});

import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { approvalOf } from '../../packages/actions/approve.ts';
import { clusterOutput, type Output } from '../../packages/decision/handler.ts';
import { HOUR_MS } from '../../packages/process/durations.ts';
import type { ClusterCommand } from '../../schemas/events/cluster-command.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { type Approved, type ApprovedObject, approvalKey } from '../../schemas/policy/approval.ts';
import { clusterCommand } from '../fixtures/cluster.ts';
import type { Secret } from '../secrets/secret.ts';
import { expectNone, textsOf } from '../secrets/told.ts';
import { knownBy } from '../support/nodes/api-access.ts';
import { patiently } from '../support/patience.ts';
import { waitUntil } from '../support/wait-until.ts';
import { ClusterFleet } from './support/cluster/cluster-fleet.ts';
import { objectOf } from './support/cluster/ordered-object.ts';
import type { Part } from './support/cluster/part.ts';

const SOON_MS = 40_000;
const BOUND_MS = patiently(120_000);
/** What goes is held twice: by its kind, and since it is wide. */
const HOLDING = {
  mode: 'enforce',
  collectors: ['garbage-collector-controller'],
  heldKinds: ['ConfigMap'],
  limits: { cascade: 3 },
};
const NAMES = Array.from({ length: 5 }, (_, position) => `held-${position}`);

let fleet: ClusterFleet;
let parts: readonly Part[];
let ownerUid: string;
/** And what each part said of its health, right before it ended. */
let metrics = '';
/** What is held by its kind, as whoever approves it names it. */
let objects: Approved;

beforeAll(async () => {
  fleet = await ClusterFleet.start();
  await fleet.addKey('pauser', 'pauser');
  await fleet.addKey('stolen', 'operator');
  await fleet.cli('keys', 'revoke', fleet.keyIdOf('stolen'), '--reason', 'stolen', ...fleet.root);
  await fleet.apply(HOLDING);
  parts = [fleet.agent(), fleet.decide(), fleet.executor()];
  for (const part of parts) await part.start();
  for (const part of parts) await part.ready();
  const owner = await fleet.configMaps.make('owner');
  ownerUid = owner.uid;
  const named: ApprovedObject[] = [];
  for (const name of NAMES) {
    const { uid } = await fleet.configMaps.make(name, [owner]);
    named.push({ uid, namespace: 'default', name });
  }
  objects = { kind: 'held-kind', heldKind: 'ConfigMap', named };
  await fleet.configMaps.remove('owner');
}, BOUND_MS);
afterAll(() => fleet?.[Symbol.asyncDispose]());

/** What `fleetgc held` says of the cluster, once it says this. */
const heldBy = (rule: string, count: number): Promise<unknown> =>
  waitUntil(`${count} objects to be held by ${rule}`, SOON_MS, async () => {
    const { clusters } = JSON.parse(await fleet.cli('held', '-o', 'json'));
    const holds: readonly { readonly rule: string; readonly objects: number }[] = clusters[0]?.holds ?? [];
    return holds.some((hold) => hold.rule === rule && hold.objects === count);
  });

async function allThere(): Promise<void> {
  for (const name of NAMES) expect(await fleet.configMaps.isGone(name), name).toBe(false);
}

/** Whoever has Kafka's password writes an approval past the verbs. */
function forgedApproval(what: Approved): Output {
  const [fact] = facts;
  if (fact === undefined) throw new Error('the agent told nothing');
  const { cluster, clusterInstance } = fact;
  const nowMs = Date.now();
  const said = { cluster, clusterInstance, what, forMs: HOUR_MS, by: 'nobody', reason: '', nowMs };
  const event = approvalOf(said);
  return { topic: 'policies', key: approvalKey(event), event };
}

let facts: Awaited<ReturnType<typeof factsOf>>;
const factsOf = () => fleet.events('clusterOwnership');

test(
  'what is held waits for an approval',
  async () => {
    await heldBy('S2', NAMES.length);
    facts = await factsOf();
    await allThere();
  },
  BOUND_MS,
);

test.each([
  ['pauser', 'a key that may only pause signed it'],
  ['decider', 'is that of a decider, who may not sign this'],
  ['stolen', 'was revoked'],
])(
  'no approval is written with the key of a %s',
  async (name, says) => {
    const approving = ['approve', 'c1', 'ConfigMap', '--as', 'held-kind'];
    const { exitCode, stderr } = await fleet.ask(...approving, ...fleet.signedBy(name));
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(says)]);
  },
  BOUND_MS,
);

test.each([
  ['nobody', 'it carries no signature'],
  ['pauser', 'a key that may only pause signed it'],
  ['decider', 'is that of a decider, who may not sign this'],
  ['stolen', 'was revoked'],
])(
  '[cluster S7] an approval that %s signed, past the verbs, lets nothing go, and every part names and counts it',
  async (name, says) => {
    const before = parts.map(({ output }) => output.length);
    await fleet.write(forgedApproval(objects), name === 'nobody' ? null : name);
    for (const [position, part] of parts.entries()) {
      await waitUntil(`${part.name} to refuse it`, SOON_MS, () => {
        const told = part.output.slice(before[position]);
        return told.includes(says) && told.includes('It approves nothing');
      });
      expect(await part.metrics()).toMatch(/^fleetgc_unreadable_approvals 1$/m);
      expect(await part.metrics()).toMatch(/^fleetgc_policies_readable 1$/m);
    }
    await allThere();
  },
  BOUND_MS,
);

test(
  '[cluster S2, S7] who has a decider’s key orders what is held in vain',
  async () => {
    const decision = (await fleet.events('clusterDecisions')).findLast(({ policy }) => policy !== null);
    const fact = (await factsOf()).at(-1);
    if (decision?.policy == null || fact === undefined) throw new Error('nothing was decided');
    const items = await Promise.all(
      NAMES.map(async (name) => ({
        object: objectOf(name, await fleet.configMaps.metadata(name)),
        rule: 'D14',
        act: { action: 'delete', propagation: 'Background', unblock: false } as const,
      })),
    );
    const { cluster, clusterInstance, takenAt } = fact;
    const { policy } = decision;
    const command: ClusterCommand = {
      ...clusterCommand({ id: 'forged', cluster, clusterInstance, takenAt, items, policy }),
    };
    await fleet.write(clusterOutput('clusterCommands', command), 'decider');
    await waitUntil('the order to be answered', SOON_MS, async () => {
      const told = await fleet.outcomes();
      return NAMES.every((name) => told.get(name)?.includes('refused not-approved'));
    });
    await allThere();
  },
  BOUND_MS,
);

test(
  '[cluster S7] what an operator approves of two holds stays until both are approved, and then goes',
  async () => {
    const operator = fleet.signedBy('operator');
    await fleet.cli('approve', 'c1', 'ConfigMap', '--as', 'held-kind', '--objects', '5', ...operator);
    await heldBy('S1', NAMES.length);
    await allThere();
    await fleet.cli('approve', 'c1', ownerUid, '--objects', '5', ...operator);
    await waitUntil('all to go', SOON_MS, async () => {
      for (const name of NAMES) if (!(await fleet.configMaps.isGone(name))) return false;
      return true;
    });
    const verdicts = (await fleet.events('clusterDecisions')).flatMap((decision) => decision.verdicts);
    const approved = verdicts.flatMap(({ facts: told }) => told.approvals ?? []);
    expect(approved.map((ids) => String(ids).split(' ').length)).toContain(2);
    for (const part of parts) expect(await part.metrics()).toMatch(/^fleetgc_unreadable_approvals 0$/m);
  },
  BOUND_MS,
);

test(
  'the log proves who approved, and names each approval that was forged',
  async () => {
    for (const part of parts) metrics += (await part.metrics()) + (await part.readiness());
    for (const part of parts) expect(await part.terminate(), part.output.slice(-2_000)).toBe(0);
    const asked = ['audit', 'verify', '--trust-roots', fleet.file('roots.yaml')];
    const { exitCode, stdout } = await fleet.ask(...asked, '-o', 'json');
    const { deviations, signedBy } = JSON.parse(stdout);
    expect([exitCode, deviations.byKind]).toEqual([1, { 'not-decided': 1, 'not-trusted': 4 }]);
    expect(signedBy).toContainEqual(
      expect.objectContaining({
        topic: 'gc.policies',
        keyId: fleet.keyIdOf('operator'),
        role: 'operator',
        records: 3,
      }),
    );
    const lines = (await fleet.ask(...asked)).stdout;
    for (const says of ['no signature', 'may only pause', 'that of a decider', 'was revoked'])
      expect(lines).toMatch(new RegExp(`not-trusted.*gc\\.policies.*${says}|${says}.*gc\\.policies`, 's'));
  },
  BOUND_MS,
);

test(
  'audit events prints the bytes of Kafka, and keys verify says of each record who signed it',
  async () => {
    const topics = ['gc.keys', 'gc.policies', 'gc.cluster.commands'] as const;
    const printed = await fleet.cli('audit', 'events', '--topic', topics.join(','));
    const events = printed
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const records = (await Promise.all(topics.map((topic) => fleet.records(topic)))).flat();
    expect(events).toHaveLength(records.length);
    for (const [position, { topic, partition, offset, value, headers }] of records.entries()) {
      const event = events[position];
      expect([event.fleetgctopic, event.fleetgcpartition, event.fleetgcoffset]).toEqual([
        topic,
        partition,
        String(offset),
      ]);
      expect(Buffer.from(event.data_base64, 'base64').equals(value ?? Buffer.alloc(0))).toBe(true);
      expect(event.fleetgcsignature).toBe(headers.ce_fleetgcsignature);
    }

    const file = fleet.file('events.ndjson');
    writeFileSync(file, printed);
    const verifying = ['keys', 'verify', file, '--trust-roots', fleet.file('roots.yaml'), '-o', 'ndjson'];
    const { exitCode, stdout } = await fleet.ask(...verifying);
    expect(exitCode).toBe(1);
    const judged: readonly { readonly verdict: string; readonly place: { readonly topic: string } }[] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const verdictsOf = (topic: string): readonly string[] =>
      judged.filter(({ place }) => place.topic === topic).map(({ verdict }) => verdict);
    // A policy, four that were forged, and what the operator approved.
    expect(verdictsOf('gc.policies')).toEqual([
      'good',
      'unsigned',
      'not-allowed',
      'not-allowed',
      'revoked',
      'good',
      'good',
    ]);
    expect(new Set(verdictsOf('gc.keys'))).toEqual(new Set(['good']));
    expect(new Set(verdictsOf('gc.cluster.commands'))).toEqual(new Set(['good']));

    const changed = readFileSync(file, 'utf8').split('\n').at(-2) ?? '';
    const { data_base64: data, ...event } = JSON.parse(changed);
    const other = Buffer.from(data, 'base64').toString('utf8').replace('held-', 'kept-');
    writeFileSync(
      file,
      `${JSON.stringify({ ...event, data_base64: Buffer.from(other).toString('base64') })}\n`,
    );
    expect(await fleet.ask(...verifying)).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining('"verdict":"changed"'),
    });
  },
  BOUND_MS,
);

test(
  'nothing that a part said, wrote to the event log, or that is archived, holds a token or a private key',
  async () => {
    const tokens = await Promise.all(
      (['agent', 'executor'] as const).map(async (half): Promise<Secret> => {
        const { token } = await knownBy(fleet.kubeconfig(half));
        if (token === null) throw new Error('the API server is not asked with a token');
        return { file: `kubeconfig of the ${half}`, value: token };
      }),
    );
    const keyOf = (name: string): Secret => ({
      file: name,
      value: readFileSync(fleet.file(`${name}.pem`), 'utf8').split('\n')[1] ?? '',
    });
    const secrets: readonly Secret[] = [
      ...tokens,
      ...['root', 'operator', 'decider', 'cluster', 'pauser'].map(keyOf),
    ];
    const archive = fleet.file('archive');
    await fleet.cli('audit', 'archive', '--to', archive);
    const query = ['audit', 'query', 'SELECT * FROM records', '--archive', archive, '-o', 'ndjson'];
    const archived = await fleet.cli(...query);
    expect(archived).toContain('fleetgc.approval');
    const written = await Promise.all(Object.values(TOPICS).map(({ name }) => fleet.records(name)));
    for (const text of [
      metrics,
      archived,
      textsOf(written.flat()).join('\n'),
      ...parts.map((part) => part.output),
    ])
      expectNone(text, secrets);
  },
  BOUND_MS,
);

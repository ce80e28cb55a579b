import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterOutput } from '../../packages/decision/handler.ts';
import { randomTraceIds } from '../../packages/process/system-sources.ts';
import { createPublisher } from '../../packages/records/publisher.ts';
import { UNSIGNED } from '../../packages/records/trust/signer.ts';
import type { ClusterCommand } from '../../schemas/events/cluster-command.ts';
import { patiently } from '../support/patience.ts';
import { waitUntil } from '../support/wait-until.ts';
import { ClusterFleet } from './support/cluster/cluster-fleet.ts';
import type { Part } from './support/cluster/part.ts';

/** From an owner that goes to the last of its dependents. */
const COLLECTED_MS = 40_000;
const BOUND_MS = patiently(120_000);
const ENFORCED = { mode: 'enforce', collectors: ['garbage-collector-controller'] };
const DONE: readonly unknown[] = ['removed', 'not-found'];

let fleet: ClusterFleet;
let parts: { readonly agent: Part; readonly decide: Part; readonly executor: Part };
beforeAll(async () => {
  fleet = await ClusterFleet.start();
  await fleet.apply(ENFORCED);
  parts = { agent: fleet.agent(), decide: fleet.decide(), executor: fleet.executor() };
  for (const part of Object.values(parts)) await part.start();
  for (const part of Object.values(parts)) await part.ready();
}, BOUND_MS);
afterAll(() => fleet?.[Symbol.asyncDispose]());

/** An owner, and dependents of it by name. */
async function family(name: string, dependents: number): Promise<readonly string[]> {
  const owner = await fleet.configMaps.make(name);
  const names = Array.from({ length: dependents }, (_, position) => `${name}-${position}`);
  for (const each of names) await fleet.configMaps.make(each, [owner]);
  return names;
}

async function collected(names: readonly string[]): Promise<void> {
  try {
    await waitUntil(`${names.length} dependents to go`, COLLECTED_MS, async () => {
      for (const name of names) if (!(await fleet.configMaps.isGone(name))) return false;
      return true;
    });
  } catch (cause) {
    throw new Error(`${String(cause)}\n${fleet.said}`, { cause });
  }
}

/** Each of them was told of, as removed once at most, and in no other way than as gone. */
async function goneOnce(names: readonly string[]): Promise<void> {
  const outcomes = await waitUntil('the results to be told', COLLECTED_MS, async () => {
    const told = await fleet.outcomes();
    return names.every((name) => told.has(name)) && told;
  });
  for (const name of names) {
    const told = outcomes.get(name) ?? [];
    expect(told.filter((outcome) => outcome === 'removed').length, `${name}: ${told}`).toBeLessThanOrEqual(1);
    expect(
      told.some((outcome) => DONE.includes(outcome)),
      `${name}: ${told}`,
    ).toBe(true);
  }
}

test(
  'an owner goes, and what it leaves behind goes, by signed facts and orders alone',
  async () => {
    const names = await family('plain', 3);
    const bystander = await fleet.configMaps.make('bystander');
    await fleet.configMaps.make('held', [bystander]);
    await fleet.configMaps.remove('plain');
    await collected(names);
    await goneOnce(names);
    expect(await fleet.configMaps.isGone('held')).toBe(false);
  },
  BOUND_MS,
);

test(
  '[cluster D15] scenario 12: each part is killed while the others work, and begins again: gone once, nothing lost',
  async () => {
    for (const [role, part] of Object.entries(parts)) {
      await part.kill();
      const names = await family(`killed-${role}`, 2);
      await fleet.configMaps.remove(`killed-${role}`);
      await part.startReady();
      await collected(names);
      await goneOnce(names);
    }
  },
  BOUND_MS,
);

test(
  '[cluster D15] scenario 12: an executor that is killed in the middle of its work finishes it when it begins again',
  async () => {
    const names = await family('wide', 120);
    await fleet.configMaps.remove('wide');
    await waitUntil('the first to go', COLLECTED_MS, () => anyGone(names));
    await parts.executor.kill();
    await parts.executor.startReady();
    await collected(names);
    await goneOnce(names);
  },
  BOUND_MS,
);

async function anyGone(names: readonly string[]): Promise<boolean> {
  for (const name of names.slice(0, 5)) if (await fleet.configMaps.isGone(name)) return true;
  return false;
}

test(
  'of two replicas of each half one works, and the other takes over from one that dies',
  async () => {
    const [agent, executor] = [fleet.agent(), fleet.executor()];
    for (const each of [agent, executor]) {
      await each.startReady();
      expect(await each.metrics()).toMatch(/^fleetgc_cluster_working 0$/m);
      expect(await each.readiness()).toContain('another replica works, and this one stands by');
    }
    for (const part of [parts.agent, parts.executor]) await part.kill();
    const names = await family('followed', 3);
    await fleet.configMaps.remove('followed');
    await collected(names);
    await goneOnce(names);
    for (const each of [agent, executor]) {
      expect(await each.metrics()).toMatch(/^fleetgc_cluster_working 1$/m);
      expect(await each.terminate()).toBe(0);
    }
    for (const part of [parts.agent, parts.executor]) await part.startReady();
  },
  BOUND_MS,
);

test(
  'scenario 12: two agents and two executors at once do what one of each does',
  async () => {
    const apart = ['--lease-namespace', 'none'];
    const [agent, executor] = [fleet.agent(...apart), fleet.executor(...apart)];
    for (const each of [agent, executor]) await each.startReady();
    const names = await family('twice', 20);
    await fleet.configMaps.remove('twice');
    await collected(names);
    await goneOnce(names);
    for (const each of [agent, executor]) expect(await each.terminate()).toBe(0);
  },
  BOUND_MS,
);

test(
  'an order that nobody signed deletes nothing, is refused, and is told',
  async () => {
    const owner = await fleet.configMaps.make('robbed');
    await fleet.configMaps.make('victim', [owner]);
    parts.executor.freeze();
    await fleet.configMaps.remove('robbed');
    const [command] = await waitUntil('the signed order', COLLECTED_MS, () => ordersFor('victim'));
    if (command === undefined) throw new Error('nothing was ordered');
    // All in it is true, but for who sent it: the signed one is withdrawn by a pause.
    await fleet.cli('pause', '--cluster', 'c1', ...fleet.signedBy('operator'));
    await publish({ ...command, id: 'forged' });
    parts.executor.thaw();
    await waitUntil('the forged order to be refused', COLLECTED_MS, async () =>
      (await fleet.events('clusterResults')).some(
        (event) =>
          event.type === 'fleetgc.cluster.command-result' &&
          event.result.outcome === 'refused' &&
          event.result.reason === 'not-trusted',
      ),
    );
    expect(await fleet.configMaps.isGone('victim')).toBe(false);
    const letters = await fleet.cli('dead-letters', 'list');
    expect(letters).toMatch(/gc\.cluster\.commands.*unsigned/);
    await fleet.cli('resume', '--all', ...fleet.signedBy('operator'));
  },
  BOUND_MS,
);

const ordersFor = async (name: string): Promise<readonly ClusterCommand[] | null> => {
  const orders = (await fleet.events('clusterCommands')).filter(({ items }) =>
    items.some(({ object }) => object.name === name),
  );
  return orders.length === 0 ? null : orders;
};

async function publish(command: ClusterCommand): Promise<void> {
  const ids = randomTraceIds;
  const publisher = createPublisher({
    signer: UNSIGNED,
    log: fleet.log,
    source: '/forger',
    now: Date.now,
    ids,
  });
  await publisher.publish([clusterOutput('clusterCommands', command)]);
}

test(
  'the API server goes away and comes back, and what went meanwhile is collected',
  async () => {
    const names = await family('away', 3);
    fleet.server.close();
    try {
      await fleet.configMaps.remove('away');
      await waitUntil('the agent to say that nobody answers', COLLECTED_MS, () =>
        parts.agent.output.includes('the API server did not tell what it serves'),
      );
    } finally {
      fleet.server.open();
    }
    await collected(names);
    await goneOnce(names);
  },
  BOUND_MS,
);

test(
  'the event log goes away and comes back, and what went meanwhile is collected',
  async () => {
    const names = await family('silent', 3);
    await fleet.broker.stop();
    try {
      await fleet.configMaps.remove('silent');
      await waitUntil('the agent not to publish', COLLECTED_MS, () =>
        parts.agent.output.includes('fleetgc.cluster.ownership cannot be published'),
      );
      for (const name of names) expect(await fleet.configMaps.isGone(name)).toBe(false);
    } finally {
      await fleet.broker.start();
    }
    await collected(names);
    await goneOnce(names);
  },
  BOUND_MS,
);

test(
  'an order whose key is revoked before it is carried out deletes nothing',
  async () => {
    const [name = ''] = await family('revoked', 1);
    parts.executor.freeze();
    try {
      await fleet.configMaps.remove('revoked');
      await waitUntil('the signed order', COLLECTED_MS, () => ordersFor(name));
      await parts.decide.kill();
      await fleet.cli('keys', 'revoke', fleet.keyIdOf('decider'), '--reason', 'stolen', ...fleet.root);
    } finally {
      parts.executor.thaw();
    }
    // Right before the deed where it was read already, else on arrival.
    await waitUntil(
      'the order to be refused',
      COLLECTED_MS,
      async () =>
        (await fleet.outcomes()).get(name)?.includes('refused not-trusted') ||
        (await fleet.events('deadLetters')).some(
          (letter) => letter.type === 'fleetgc.dead-letter' && letter.cause === 'untrusted-key',
        ),
    );
    expect(await fleet.configMaps.isGone(name)).toBe(false);
    expect((await fleet.outcomes()).get(name) ?? []).not.toContain('removed');
  },
  BOUND_MS,
);

test('the log proves all of it, and names what was forged', async () => {
  for (const part of [parts.agent, parts.executor])
    expect(await part.terminate(), part.output.slice(-2_000)).toBe(0);
  const { stdout } = await fleet.ask(
    'audit',
    'verify',
    '--trust-roots',
    fleet.file('roots.yaml'),
    '-o',
    'json',
  );
  const { deviations, signedBy } = JSON.parse(stdout);
  expect(deviations.byKind).toEqual({ 'not-decided': 1, 'not-trusted': 1 });
  expect(signedBy).toContainEqual(
    expect.objectContaining({
      topic: 'gc.cluster.commands',
      keyId: fleet.keyIdOf('decider'),
      role: 'decider',
    }),
  );
});

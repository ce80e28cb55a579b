import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import type { ObjectResult } from '../../schemas/events/result.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { readTopic } from '../cli/read-topic.ts';
import { readiness } from '../cli/service-options.ts';
import type { SpawnedVerb } from '../cli/service-process.ts';
import { textOf } from '../deploy/files.ts';
import { waitUntil } from '../support/wait-until.ts';
import { machineOptions, type Scene, startScene } from './incident/scene.ts';
import { eventsOf, thiefWith } from './incident/thief.ts';
import { commandsUnder, type Ids, isAsShown, translated } from './incident/transcript.ts';
import { codeBlocks } from './markdown.ts';

const BOUND_MS = 30_000;
const page = textOf('docs/operating/incident.md');
const [policy = ''] = codeBlocks(page, 'yaml');

/** Runs what the page shows under a heading, and compares. */
type Play = (heading: string) => Promise<void>;

function playOn({ shell }: Scene): Play {
  const ids: Ids = new Map();
  return async (heading) => {
    for (const { command, output } of commandsUnder(page, heading)) {
      const printed = await shell(translated(command, ids));
      if (!isAsShown(output, printed, ids))
        expect(`$ ${command}\n${printed}`).toBe(`$ ${command}\n${output}`);
    }
  };
}

const ROOTED = '--valid-for 90d --trust-roots roots.yaml --root-key-file root-a.pem';
/** As keys.md says it, with a root that has a network. */
const SET_UP = [
  'fleetgc keys create root-a.pem > root-a.pub',
  'fleetgc keys create root-b.pem > root-b.pub',
  'fleetgc keys roots --fleet prod --root root-a=root-a.pub,root-b=root-b.pub > roots.yaml',
  'fleetgc keys create decider.pem > decider.pub',
  'fleetgc keys create operator.pem > operator.pub',
  `fleetgc keys certify decider.pub --role decider --name deciders ${ROOTED}`,
  `fleetgc keys certify operator.pub --role operator --name "ops team" ${ROOTED}`,
  'fleetgc policy apply policy.yaml --trust required --trust-roots roots.yaml --signing-key-file operator.pem',
];

/** From a revocation until the decision services say that they know of it; epoch milliseconds. */
interface Learning {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * The event log in a file takes away each minute what was written again on `gc.policies`, and a slow machine takes more than a
 * minute to come here: then what the thief wrote there cannot be shown any more. And what decision services say of their policies
 * before they know that their key was revoked is one more record that nobody believes; once they know, they say nothing.
 */
async function unlessSlow(
  { own }: Scene,
  { fromMs, toMs }: Learning,
  show: () => Promise<void>,
): Promise<void> {
  try {
    await show();
  } catch (error) {
    const isCompacted = (await eventsOf(own.log, 'policies')).length < 2;
    const told = await readTopic(own.log, TOPICS.policyVersions.name);
    const isTold = told.some(({ timestampMs }) => timestampMs >= fromMs && timestampMs <= toMs);
    if (!isCompacted && !isTold) throw error;
  }
}

const resultsOfObjects = async ({ own }: Scene): Promise<readonly ObjectResult[]> =>
  (await eventsOf(own.log, 'results')).filter((event) => event.type === 'fleetgc.node.object-result');

/** Until so many commands have come to an end. */
const ended = ({ own }: Scene, commands: number) =>
  waitUntil(`${commands} commands to end`, BOUND_MS, async () => {
    const results = await eventsOf(own.log, 'results');
    return results.filter(({ type }) => type === 'fleetgc.node.command-result').length >= commands;
  });

/** Until so many objects have gone, and the commands that removed them have come to an end: a decider may give one more that finds nothing left. */
const removed = (scene: Scene, objects: number) =>
  waitUntil(`${objects} objects to go`, BOUND_MS, async () => {
    const done = (await resultsOfObjects(scene)).filter(({ result }) => result.outcome === 'removed');
    const results = await eventsOf(scene.own.log, 'results');
    const hasEnded = ({ commandId }: ObjectResult): boolean =>
      results.some((each) => each.type === 'fleetgc.node.command-result' && each.commandId === commandId);
    return done.length >= objects && done.every(hasEnded);
  });

/** The container of the pod dies and another one takes its place; until the node has told that two are dead. */
async function crash({ node, own }: Scene, pod: string): Promise<void> {
  node.kubelet.crashPod(pod);
  await node.kubelet.restartContainers(pod);
  await waitUntil('an inventory with two dead containers', BOUND_MS, async () => {
    const newest = (await eventsOf(own.log, 'inventory')).at(-1);
    return newest?.status === 'complete' && newest.containers.filter(isDead).length === 2;
  });
}

const isDead = ({ state }: CompleteInventory['containers'][number]): boolean => state === 'exited';

const ready = async (service: SpawnedVerb, problem: string | null) => {
  const wanted = problem === null ? { status: 200, says: 'ready' } : { status: 503, says: problem };
  return (await readiness(service, wanted)).text;
};

async function removedBy(scene: Scene, commandId: RegExp): Promise<readonly string[]> {
  const results = (await resultsOfObjects(scene)).filter((event) => commandId.test(event.commandId));
  return results.flatMap(({ object, result }) => (result.outcome === 'removed' ? [object.id] : []));
}

/** The fleet of the page: its keys, its policy, its node, and decisions about it. */
async function fleetAtWork(scene: Scene) {
  const { node, own, file, shell } = scene;
  writeFileSync(file('policy.yaml'), policy);
  for (const command of SET_UP) await shell(command);
  const containers = { main: 'registry.example/web:1' };
  const pod = await node.kubelet.startPod({ name: 'web', namespace: 'default', containers });
  // The last one that died stays.
  node.kubelet.crashPod(pod);
  await node.kubelet.restartContainers(pod);
  for (const image of ['registry.example/base/os:12', 'registry.example/tool:1'])
    await node.runtime.pullImage(image);
  const decide = () => scene.start('decide', '--signing-key-file', file('decider.pem'));
  const services = await decide();
  const agent = await scene.start('node', ...machineOptions(scene));
  await waitUntil('decisions', BOUND_MS, async () => (await eventsOf(own.log, 'decisions')).length >= 3);
  return { pod, decide, services, agent };
}

test('what the page tells of a stolen key is what happens', async () => {
  const scene = await startScene();
  const { pod, decide, services: before, agent } = await fleetAtWork(scene);
  expect(await before.terminate()).toBe(0);
  await crash(scene, pod);
  const play = playOn(scene);

  const thief = thiefWith(scene.file('decider.pem'), scene.own.log);
  await thief.orderImages('thief-1');
  await thief.orderContainers('thief-2');
  await ended(scene, 3);
  const services = await decide();
  await ready(services, null);
  await ended(scene, 4);
  await play('What the thief does');
  await play('How it is seen');

  await thief.replacePolicy();
  await ready(agent, 'may not sign this');
  await play('What the thief cannot do');
  await ready(agent, null);

  const fromMs = Date.now();
  await play('End it');
  const learning = { fromMs, toMs: Date.now() };
  await thief.orderContainers('thief-3');
  await ended(scene, 5);
  await play('The thief is locked out');
  await play('A new key');
  // At once, in place of within 10 s.
  services.hangUp();
  await ready(services, null);
  await play('All goes on');
  await crash(scene, pod);
  await removed(scene, 2);
  await unlessSlow(scene, learning, () => play('What verify shows after'));
  await unlessSlow(scene, learning, async () => {
    const asked = await scene.shell('fleetgc audit verify --trust-roots roots.yaml -o json');
    expect(asked).toContain('"byKind": {\n      "not-decided": 4,\n      "not-trusted": 2\n    }');
  });
  // One by the thief's command, and one by the new key's.
  expect([...scene.node.runtime.containers.values()].filter(({ state }) => state === 'exited')).toHaveLength(
    1,
  );
  expect(await removedBy(scene, /^thief-/)).toHaveLength(1);
  expect(await removedBy(scene, /./)).toHaveLength(2);
});

import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { type Grounds, type GroundsSettings, named, prepareGrounds } from './grounds.ts';
import type { ImageSource } from './image-source.ts';
import { type FleetNode, startNode } from './node.ts';
import { type PolicyId, policyFile } from './policies.ts';
import { NODE_PARTS, NODES_SHAPE, SERVICES } from './shape.ts';

const LIFE_STEP_MS = 300;
/** So many steps without a pause fill a good part of a disk, while the parts start. */
const HEAD_START_STEPS = 22;
/** Real pods take their time. */
const HEAD_START_STEPS_ON_CONTAINERD = 12;

const TOPICS: readonly TopicName[] = [
  'gc.node.disk-stats',
  'gc.node.inventory',
  'gc.node.observe',
  'gc.node.commands',
  'gc.node.results',
  'gc.dead-letters',
  'gc.node.decisions',
  'gc.policies',
  'gc.policy-versions',
  'gc.keys',
  'gc.heads',
];

/** Everything that runs in a round about nodes. */
export interface Fleet extends Grounds<PolicyId> {
  node(name: string): FleetNode;
  readonly nodes: readonly FleetNode[];
  /** As after a power failure: each part of the node ends at once, and finds another boot id. */
  reboot(node: string): void;
}

interface FleetSettings
  extends Omit<GroundsSettings<PolicyId>, 'shape' | 'topics' | 'policyFile'>,
    NodesSettings {
  /** The parts start so long before any statement about keys is there. */
  readonly statementsLateMs: number;
}

interface NodesSettings {
  /** Of the lives of the nodes. */
  readonly seed: number;
  readonly directory: string;
  /** Where real runtimes pull from; `null`: runtimes are made up. */
  readonly images: ImageSource | null;
}

/** Starts all of it on a broker without topics. Nodes live from the start; the usual policy comes while the parts start. */
export async function startFleet(settings: FleetSettings): Promise<Fleet> {
  await using starting = new AsyncDisposableStack();
  const stack = starting.use(new AsyncDisposableStack());
  const grounded = { ...settings, shape: NODES_SHAPE, topics: TOPICS, policyFile };
  const [grounds, nodes] = await Promise.all([
    prepareGrounds(grounded).then((prepared) => stack.use(prepared)),
    startNodes(settings, stack),
  ]);
  // The parts end before the nodes.
  stack.defer(() => grounds[Symbol.asyncDispose]());
  grounds.startAll(partsOf(settings.program, nodes));
  await sleep(settings.statementsLateMs, undefined, { signal: settings.signal });
  await grounds.keys.publishAll(grounds.untilDone);
  await grounds.operator.apply('usual');
  starting.move();
  return {
    ...grounds,
    nodes,
    node: (name) => named(nodes, name),
    reboot: (name) => {
      writeFileSync(named(nodes, name).bootIdFile, `${randomUUID()}\n`);
      for (const part of grounds.parts) if (part.name.startsWith(`${name}/`)) part.kill();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const startNodes = (
  { seed, directory, images }: NodesSettings,
  stack: AsyncDisposableStack,
): Promise<readonly FleetNode[]> =>
  Promise.all(
    Object.keys(NODE_PARTS).map(async (name, index) => {
      const node = stack.use(await startNode({ name, parent: directory, images }));
      node.tell({
        kind: 'live',
        seed: seed + index,
        stepMs: LIFE_STEP_MS,
        headStart: images === null ? HEAD_START_STEPS : HEAD_START_STEPS_ON_CONTAINERD,
      });
      return node;
    }),
  );

const partsOf = (program: string, nodes: readonly FleetNode[]) => [
  ...Object.entries(SERVICES).map(([name, verb]) => ({
    name,
    command: [program, verb, '--http-address=none'],
    machine: 'services',
    signsAs: 'decider' as const,
  })),
  ...nodes.flatMap((node) =>
    (NODE_PARTS[node.name] ?? []).map((verb) => ({
      name: `${node.name}/${verb}`,
      command: nodeCommand(program, verb, node),
      machine: node.name,
      signsAs: null,
    })),
  ),
];

/** The parts of a node see a boot id of their own: a file that lies over the kernel's in their view of the filesystem. */
function nodeCommand(program: string, verb: string, node: FleetNode): readonly string[] {
  const script = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"';
  const own = ['unshare', '--mount', '--propagation', 'slave', 'sh', '-c', script, node.bootIdFile];
  return [...own, program, verb, ...node.options, '--http-address=none'];
}

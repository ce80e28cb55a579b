import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TopicName } from '../../../../schemas/events/topics.ts';
import { type Grounds, type GroundsSettings, prepareGrounds } from '../../fleet/grounds.ts';
import { type ClusterPolicyId, clusterPolicyFile } from '../policies.ts';
import { AGENT, CLUSTER, CLUSTER_MACHINE, CLUSTER_SHAPE, EXECUTOR } from '../shape.ts';
import { ChaosApiServer } from './api-server.ts';
import { ClusterLife } from './life.ts';

const LIFE_STEP_MS = 150;
/** What is there when the parts start. */
const FIRST_STEPS = 60;

const TOPICS: readonly TopicName[] = [
  'gc.cluster.ownership',
  'gc.cluster.pods',
  'gc.cluster.expiry',
  'gc.cluster.census',
  'gc.cluster.commands',
  'gc.cluster.results',
  'gc.cluster.decisions',
  'gc.cluster.removed',
  'gc.dead-letters',
  'gc.policies',
  'gc.policy-versions',
  'gc.keys',
  'gc.heads',
];

/** Everything that runs in a round about a cluster. */
export interface ClusterFleet extends Grounds<ClusterPolicyId> {
  readonly server: ChaosApiServer;
  /** Something comes to do at once, and again and again until that is ended. */
  press(): () => void;
  /** Nothing comes or goes by itself any more. */
  rest(): void;
}

interface ClusterFleetSettings
  extends Omit<GroundsSettings<ClusterPolicyId>, 'shape' | 'topics' | 'policyFile'> {
  readonly seed: number;
  readonly statementsLateMs: number;
  readonly hasLeases: boolean;
}

/** Starts all of it on a broker without topics. The cluster lives from the start; the usual policy comes while the parts start. */
export async function startClusterFleet(settings: ClusterFleetSettings): Promise<ClusterFleet> {
  const { directory, signal, statementsLateMs, seed } = settings;
  await using starting = new AsyncDisposableStack();
  const stack = starting.use(new AsyncDisposableStack());
  const server = stack.use(await ChaosApiServer.start());
  const life = new ClusterLife(server, seed);
  for (let steps = 0; steps < FIRST_STEPS; steps += 1) life.step();
  const grounds = stack.use(
    await prepareGrounds({
      ...settings,
      shape: CLUSTER_SHAPE,
      topics: TOPICS,
      policyFile: clusterPolicyFile,
    }),
  );
  server.way.writeKubeconfig(join(directory, 'kubeconfig'));
  grounds.startAll(partsOf(settings));
  const living = setInterval(() => life.step(), LIFE_STEP_MS);
  stack.defer(() => clearInterval(living));
  await sleep(statementsLateMs, undefined, { signal });
  await grounds.keys.publishAll(grounds.untilDone);
  await grounds.operator.apply('usual');
  starting.move();
  return {
    ...grounds,
    server,
    press: () => pressed(life),
    rest: () => {
      clearInterval(living);
      life.rest();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const PRESS_EVERY_MS = 1_500;

function pressed(life: ClusterLife): () => void {
  life.press();
  const pressing = setInterval(() => life.press(), PRESS_EVERY_MS);
  return () => clearInterval(pressing);
}

function partsOf({ program, directory, hasLeases }: ClusterFleetSettings) {
  const kubeconfig = join(directory, 'kubeconfig');
  /** Each executor keeps what it has seen in a directory of its own. */
  const stateDirectory = (name: string): string => {
    const path = join(directory, 'state', name);
    mkdirSync(path, { recursive: true });
    return `--state-directory=${path}`;
  };
  const leases = hasLeases ? [] : ['--lease-namespace=none'];
  const common = ['--http-address=none'];
  const ofCluster = [`--cluster=${CLUSTER}`, `--kubeconfig=${kubeconfig}`, ...leases, ...common];
  const machine = CLUSTER_MACHINE;
  return [
    ...Object.entries(CLUSTER_SHAPE.services).map(([name, verb]) => ({
      name,
      command: [program, verb, ...common],
      machine: 'services',
      signsAs: 'decider' as const,
    })),
    {
      name: AGENT,
      command: [program, 'cluster', 'agent', ...ofCluster],
      machine,
      signsAs: 'cluster' as const,
    },
    {
      name: EXECUTOR,
      command: [program, 'cluster', 'executor', ...ofCluster, stateDirectory('first')],
      replica: [program, 'cluster', 'executor', ...ofCluster, stateDirectory('second')],
      machine,
      signsAs: 'cluster' as const,
    },
  ];
}

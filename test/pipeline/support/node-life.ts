import fc from 'fast-check';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { MINUTE, SECOND } from '../../fixtures/time.ts';
import { allEnded } from './accounts.ts';
import type { Guards } from './guards.ts';
import { pressure } from './images.ts';
import type { NodeRun } from './node-run.ts';
import type { Pipeline } from './pipeline.ts';

/** A node on which anything may happen, and the process that may die. */
export interface Stage {
  readonly pipeline: Pipeline;
  readonly guards: Guards;
  run: NodeRun | null;
}

/** One thing that happens; `which` chooses among what there is. */
export type Happening = readonly [what: keyof typeof HAPPENINGS, which: number];

const IMAGES: readonly string[] = [
  ...Array.from({ length: 12 }, (_, index) => `app/${index}:1`),
  'kept/base:1',
  'local/built:1',
  'pinned/agent:1',
];

const choose = <T>(items: readonly T[], which: number): T | undefined =>
  items[which % Math.max(1, items.length)];
const imageFor = (which: number): string => choose(IMAGES, which) ?? 'app/0:1';
const podsOf = ({ pipeline }: Stage): string[] => [...pipeline.node.kubelet.pods.keys()];

/** A full disk lets nobody pull; that is life. */
const lenient = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => {
    if (!(error instanceof FleetGcError)) throw error;
  });

let pods = 0;
const deploy = ({ pipeline }: Stage, which: number): Promise<unknown> =>
  lenient(
    pipeline.node.kubelet.startPod({
      name: `pod-${pods++}`,
      namespace: 'default',
      containers: { app: imageFor(which) },
    }),
  );

const onPod = (act: (stage: Stage, uid: string) => unknown) => async (stage: Stage, which: number) => {
  const uid = choose(podsOf(stage), which);
  if (uid !== undefined) await act(stage, uid);
};

async function pull({ pipeline: { node } }: Stage, which: number): Promise<void> {
  const reference = imageFor(which);
  await lenient(node.runtime.pullImage(reference));
  const image = node.runtime.findImage(reference);
  if (image && reference.startsWith('pinned/')) node.runtime.addImage({ ...image, pinned: true });
}

/** An image that was never there before. */
const release = ({ pipeline: { node } }: Stage, which: number): Promise<unknown> =>
  lenient(node.runtime.pullImage(`app/new-${which}:1`));

const anyImage = ({ pipeline: { node } }: Stage, which: number): string =>
  choose([...node.runtime.images.keys()], which) ?? '';
const anyObject = ({ pipeline: { node } }: Stage, which: number): string =>
  choose(
    [...node.runtime.images.keys(), ...node.runtime.containers.keys(), ...node.runtime.sandboxes.keys()],
    which,
  ) ?? '';

const READS = ['listImages', 'listContainers', 'listPodSandbox', 'containerStatus', 'imageFsInfo'] as const;
const CALLS = [...READS, 'removeImage', 'removeContainer', 'stopPodSandbox', 'removePodSandbox'] as const;

async function restartNode(stage: Stage): Promise<void> {
  await stage.run?.stop();
  stage.run = await stage.pipeline.startNode();
}

function killDuring(stage: Stage, which: number): void {
  const { run } = stage;
  stage.pipeline.node.faults.afterCall(choose(CALLS, which) ?? 'listImages', () => {
    run?.kill();
    if (stage.run === run) stage.run = null;
  });
}

async function changePause({ pipeline }: Stage, isPaused: boolean): Promise<void> {
  const known = pipeline.policies().pauses.length > 0;
  if (known !== isPaused) await (isPaused ? pipeline.pause() : pipeline.resume());
}

/** Everything that can happen to a node and its pipeline. */
const HAPPENINGS = {
  time: ({ pipeline }, which) => pipeline.time.pass((1 + (which % 40)) * SECOND),
  deploy,
  pull,
  release,
  crash: onPod(({ pipeline, guards }, uid) => guards.byKubelet(() => pipeline.node.kubelet.crashPod(uid))),
  restart: onPod(({ pipeline }, uid) => lenient(pipeline.node.kubelet.restartContainers(uid))),
  finish: onPod(({ pipeline, guards }, uid) => guards.byKubelet(() => pipeline.node.kubelet.finishPod(uid))),
  delete: onPod(({ pipeline, guards }, uid) => guards.byKubelet(() => pipeline.node.kubelet.deletePod(uid))),
  fillDisk: ({ pipeline }, which) => pressure(pipeline, BigInt(85 + (which % 15))),
  deployWhileListed: (stage, which) =>
    stage.pipeline.node.faults.afterCall('listImages', () => deploy(stage, which)),
  keepsImage: (stage, which) => stage.pipeline.node.faults.keptImages.add(anyImage(stage, which)),
  refusesRemoval: (stage, which) =>
    stage.pipeline.node.faults.refusedRemovals.set(anyObject(stage, which), 'busy'),
  freesLate: ({ pipeline }, which) => {
    pipeline.node.faults.freeLateMs = (which % 4) * SECOND;
  },
  failsCall: ({ pipeline }, which) =>
    pipeline.node.faults.onCall(
      choose(CALLS, which) ?? 'version',
      { kind: 'error', message: 'broken' },
      1 + (which % 3),
    ),
  answersHalf: ({ pipeline }, which) =>
    pipeline.node.faults.onCall(
      choose(READS.slice(0, 3), which) ?? 'listImages',
      { kind: 'half' },
      1 + (which % 2),
    ),
  podsUnreadable: ({ pipeline }, which) => {
    pipeline.node.faults.podsUnreadable = which % 2 === 0;
  },
  diskUnreadable: ({ pipeline }, which) => {
    pipeline.node.faults.filesystemsUnreadable = which % 2 === 0;
  },
  faultsEnd: ({ pipeline }) => pipeline.node.faults.clear(),
  runtimeDies: ({ pipeline }) => pipeline.node.die(),
  runtimeReturns: ({ pipeline }) => pipeline.node.revive(),
  kubeletRestarts: ({ pipeline }) => pipeline.node.kubelet.restart(),
  nodeRestarts: restartNode,
  nodeKilledDuring: killDuring,
  decidersRestart: async ({ pipeline }) => {
    await pipeline.deciders.stop();
    await pipeline.deciders.start();
  },
  pause: (stage) => changePause(stage, true),
  resume: (stage) => changePause(stage, false),
} satisfies Record<string, (stage: Stage, which: number) => unknown>;

/** Time passes and pods come and go most of the time. */
const WEIGHTS: Readonly<Partial<Record<keyof typeof HAPPENINGS, number>>> = {
  time: 14,
  deploy: 4,
  pull: 3,
  release: 4,
  crash: 2,
  restart: 2,
  delete: 4,
  fillDisk: 8,
  deployWhileListed: 2,
  nodeKilledDuring: 2,
  faultsEnd: 2,
  runtimeReturns: 2,
  resume: 2,
};

const isHappening = (what: string): what is keyof typeof HAPPENINGS => what in HAPPENINGS;

export const arbitraryLife = fc.array(
  fc.tuple(
    fc.oneof(
      ...Object.keys(HAPPENINGS)
        .filter(isHappening)
        .map((what) => ({ arbitrary: fc.constant(what), weight: WEIGHTS[what] ?? 1 })),
    ),
    fc.nat(1_000),
  ),
  { minLength: 25, maxLength: 50 },
);

/** All images and a few pods, some time ago. */
export async function begin(stage: Stage): Promise<void> {
  for (const index of IMAGES.keys()) await pull(stage, index);
  for (const index of [0, 3, 6]) await deploy(stage, index);
  stage.run = await stage.pipeline.startNode();
  await stage.pipeline.time.pass(30 * SECOND);
}

/** Lets it happen, and starts what died. */
export async function live(stage: Stage, happenings: readonly Happening[]): Promise<void> {
  for (const [what, which] of happenings) {
    await HAPPENINGS[what](stage, which);
    stage.run ??= await stage.pipeline.startNode();
  }
}

/** Everything is well again, and all that was begun comes to its end. */
export async function settleDown(stage: Stage): Promise<void> {
  const { pipeline } = stage;
  pipeline.node.faults.clear();
  await pipeline.node.revive();
  pressure(pipeline, 50n);
  await changePause(stage, false);
  await pipeline.time.pass(MINUTE);
  await pipeline.time.passUntil('every command to end', 3 * MINUTE, () => allEnded(pipeline));
}

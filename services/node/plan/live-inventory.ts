import type { Logger } from 'pino';
import { connectReader } from '../../../packages/cri/client.ts';
import { withOtherUses } from '../../../packages/cri/containerd/other-uses.ts';
import { connectContainerd } from '../../../packages/cri/containerd/reader.ts';
import { isImportingSocket } from '../../../packages/cri/socket-path.ts';
import type { Note } from '../../../packages/decision/conclusion.ts';
import { importsLikePulls } from '../../../packages/decision/inventory-checks.ts';
import { IMPORTS_NOTE } from '../../../packages/plan/plan.ts';
import { DAY_MS } from '../../../packages/process/durations.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import { podLogReader } from '../agent/pod-logs.ts';
import { openKubeletPods } from '../managed-node.ts';
import type { ContainerdOptions, KubeletOptions, NodeOptions } from '../node-options.ts';
import { thisMachine } from '../this-machine.ts';
import { hasHistory, keptState, takeInventoryOnce } from './take-inventory-once.ts';

type LiveOptions = KubeletOptions &
  ContainerdOptions &
  Omit<NodeOptions, 'stateDirectory' | 'machineIdFile'> & {
    readonly stateDirectory?: string | undefined;
    /** What no agent has kept counts as old, and not as just detected. */
    readonly assumeOld: boolean;
  };

/** What this machine is now, and what one look cannot tell. */
interface LiveInventory {
  readonly inventory: Inventory;
  readonly notes: readonly Note[];
}

/** Which installation this is matters to whoever removes something. */
const NO_INSTANCE = '00000000-0000-0000-0000-000000000000';

/** Looks at this machine's runtime once. Throws what the runtime, the options or the state directory are wrong with. */
export async function inventoryOfThisMachine(options: LiveOptions, logger: Logger): Promise<LiveInventory> {
  using resources = new DisposableStack();
  const { name, nodeLabels, clock, filesystems, podLogs, runtimeEndpoint } = thisMachine({
    ...options,
    log: 'embedded',
  });
  const state = keptState(options.stateDirectory);
  const isKept = hasHistory(state);
  const notes = [...historyNotes(isKept, options), podNote(options), RESERVED];
  const containerd = options.imageLayers ? resources.use(connectContainerd(runtimeEndpoint)) : null;
  const runtime = withOtherUses(resources.use(connectReader(runtimeEndpoint)), containerd, systemSources);
  const pods = resources.use(openKubeletPods(options));
  const importsLookPulled = isImportingSocket(runtimeEndpoint);
  const inventory = await takeInventoryOnce({
    identity: { ...name, nodeInstance: NO_INSTANCE },
    nodeLabels,
    runtime,
    containerd,
    importsLookPulled,
    onMissingContents: ({ reason, effect }) => notes.push({ rule: 'M7', message: `${reason}: ${effect}` }),
    filesystems: filesystems(runtime, (problems) => {
      for (const message of problems) notes.push({ rule: 'A2', message });
    }),
    podLogs: podLogReader(podLogs),
    pods: pods.source,
    podSources: options.podSources,
    state,
    clock,
    logger,
  });
  // Where the version says it, the plan of any inventory has the note.
  if (importsLookPulled && !importsLikePulls(inventory.runtime.version)) notes.push(IMPORTS_NOTE);
  return { inventory: options.assumeOld && !isKept ? assumeOld(inventory) : inventory, notes };
}

/** Who compares with `df` finds a few percent less there. */
const RESERVED: Note = {
  rule: 'D6',
  message:
    'how full a disk is counts what is reserved for root as used, and is rounded up, as a kubelet does it: df shows a few percent less',
};

function historyNotes(
  isKept: boolean,
  { stateDirectory: directory, assumeOld: isAssumed }: Pick<LiveOptions, 'stateDirectory' | 'assumeOld'>,
): readonly Note[] {
  if (isKept)
    return isAssumed
      ? [
          {
            rule: 'M2',
            message: `--assume-old changes nothing: an agent has kept how old everything is in ${directory}`,
          },
        ]
      : [];
  if (isAssumed)
    return [
      {
        rule: 'C14',
        message:
          'images and containers count as old enough, since --assume-old was given: what goes really has to reach its age first, from when an agent has seen it',
      },
    ];
  const why =
    directory === undefined
      ? 'no --state-directory of one was given'
      : `none has kept anything in ${directory} yet`;
  return [
    {
      rule: 'C14',
      message: `what only an agent knows is not known, since ${why}: images count as just detected, and ages of containers from this look, as for an agent that starts now; whatever has to be older is kept. To see what goes once it is old enough: --assume-old`,
    },
  ];
}

const podNote = ({ kubeletUrl }: KubeletOptions): Note =>
  kubeletUrl === undefined
    ? {
        rule: 'A8',
        message: 'no --kubelet-url: no pod counts as deleted, and what belongs to one is kept',
      }
    : {
        rule: 'A6',
        message:
          'that a pod is gone takes two answers of the kubelet, a minute apart: after one look what only goes with its pod is kept',
      };

/** Longer than any policy asks for. */
const LONG_MS = 3650 * DAY_MS;

/** The same node as if an agent had watched it for ever: what nobody uses was never used, and is as old as can be. */
function assumeOld(inventory: Inventory): Inventory {
  if (inventory.status !== 'complete') return inventory;
  const longAgoMs = Math.max(0, inventory.takenAt.wallTimeMs - LONG_MS);
  return {
    ...inventory,
    clockSteadySinceMs: longAgoMs,
    imagesWatchedSinceMs: longAgoMs,
    images: inventory.images.map((image) => ({ ...image, firstDetectedMs: longAgoMs })),
  };
}

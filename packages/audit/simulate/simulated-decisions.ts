import { z } from 'zod';
import type { AnyDeciderName } from '../../../schemas/events/deciders.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import {
  type DeciderName,
  ObjectKind,
  type REMOVALS,
  type RemovalKind,
} from '../../../schemas/events/object-kinds.ts';
import { Reclaim } from '../../../schemas/events/reclaim.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import { sha256Hex } from '../../canonical/ids.ts';
import { FleetGcError } from '../../process/errors.ts';
import { bundleName, type FrozenDecider, findDecider } from '../deciders/deciders.ts';
import frozen from '../deciders/hashes.json' with { type: 'json' };
import type { ClusterDeciders } from './clusters/decided-objects.ts';

/** Of what deciders give, what a simulation acts on; a frozen decider may write more than is known today, or less. */
const Order = z.object({ type: z.literal('fleetgc.node.observe'), reclaim: Reclaim });
const Unrelieved = z.object({ type: z.literal('fleetgc.node.pressure-unrelieved') });
const Removal = z.object({
  type: z.literal('fleetgc.node.command'),
  items: z.array(
    z.object({
      kind: ObjectKind,
      id: z.string(),
      /** Of images. */
      estimatedBytes: z.int().nonnegative().optional(),
    }),
  ),
});

/** An object that a command would name. */
export type PlannedItem = z.infer<typeof Removal>['items'][number];

export interface RemovalDecision {
  readonly items: readonly PlannedItem[];
  readonly unrelieved: boolean;
}

export interface Deciding {
  readonly deciders: SimulationDeciders;
  readonly policies: PolicySet;
}

/** The reclaim that these readings begin; `null` when there is none. */
export function decideReclaim(stats: DiskStats, { deciders, policies }: Deciding): Reclaim | null {
  const order = outputs(deciders.pressure, TOPICS.diskStats.name, { event: stats, policies })
    .map((output) => Order.safeParse(output).data)
    .find((each) => each !== undefined);
  return order?.reclaim ?? null;
}

/** What would go of this inventory by the decider of containers or that of images. */
export function decideRemoval(
  by: RemovalDecider,
  inventory: CompleteInventory,
  { deciders, policies }: Deciding,
): RemovalDecision {
  const events = outputs(deciders[by], TOPICS.inventory.name, { event: inventory, policies });
  const removals = events.flatMap((event) => Removal.safeParse(event).data ?? []);
  return {
    items: removals.flatMap(({ items }) => items),
    unrelieved: events.some((event) => Unrelieved.safeParse(event).success),
  };
}

interface Question {
  readonly event: CompleteInventory | DiskStats;
  readonly policies: PolicySet;
}

function outputs(
  { read, decide }: FrozenDecider,
  topic: string,
  { event, policies }: Question,
): readonly unknown[] {
  const text = JSON.stringify(event);
  const position = { topic, partition: 0, offset: '0', sha256: sha256Hex(text) };
  return decide(read(JSON.parse(text)), position, policies).map((given) => given.event);
}

/** What a simulation decides with. */
export type SimulationDeciders = Readonly<Record<DeciderName, FrozenDecider>>;

/** Who decides what is to be removed. */
export type RemovalDecider = (typeof REMOVALS)[RemovalKind]['decider'];

/** The newest frozen ones: a policy that is tried today would be carried out by them. */
export const newestDeciders = async (): Promise<SimulationDeciders> => ({
  pressure: await newest('pressure'),
  'container-gc': await newest('container-gc'),
  'image-gc': await newest('image-gc'),
});

/** The same of those that decide about clusters. */
export const newestClusterDeciders = async (): Promise<ClusterDeciders> => ({
  'graph-gc': await newest('graph-gc'),
  'pod-gc': await newest('pod-gc'),
  'expiry-gc': await newest('expiry-gc'),
});

async function newest(name: AnyDeciderName): Promise<FrozenDecider> {
  const prefix = bundleName(name, '');
  const versions = Object.keys(frozen)
    .filter((file) => file.startsWith(prefix))
    .map((file) => Number(file.slice(prefix.length)));
  const decider = await findDecider(name, String(Math.max(...versions)));
  if (decider !== null) return decider;
  throw new FleetGcError('DECIDER_CHANGED', `this release has no frozen decider ${name}. Install it again`);
}

import type { Activity } from '../../cli/views/activity/activity-reader.ts';
import { type FreedSums, NOTHING_FREED, withFreed } from '../../packages/decision/freed-space.ts';
import { OBJECT_KINDS, type ObjectKind } from '../../schemas/events/object-kinds.ts';
import { compareText } from '../../schemas/events/text-order.ts';

export interface NodeTally {
  usedBytes: bigint;
  capacityBytes: bigint;
  highestPercent: number;
  reclaims: number;
  freed: FreedSums;
  /** The image that went last. */
  lastImage: string | null;
  /** Objects removed, by kind and reason. */
  readonly removed: Map<string, number>;
  /** Objects that a command named and nobody removed for it, by reason. */
  readonly stayed: Map<string, number>;
  /** What the newest decision about each kind of object kept, by reason. */
  readonly kept: Map<ObjectKind, ReadonlyMap<string, number>>;
}

/** By node name. */
export type Tally = ReadonlyMap<string, NodeTally>;

export const nodesByName = (tally: Tally): readonly (readonly [string, NodeTally])[] =>
  [...tally].toSorted(([a], [b]) => compareText(a, b));

export interface RemovedImage {
  readonly node: string;
  readonly name: string;
}

/** One to ask about; `null` where none went. */
export function lastRemovedImage(tally: Tally): RemovedImage | null {
  const [first] = nodesByName(tally).flatMap(([node, { lastImage }]) =>
    lastImage === null ? [] : [{ node, name: lastImage }],
  );
  return first ?? null;
}

/** Counts activities. The returned map is the same one all the time. */
export function createTally(): { readonly tally: Tally; count(activity: Activity): void } {
  const tally = new Map<string, NodeTally>();
  const count = (activity: Activity): void => {
    const node = tally.get(activity.node) ?? emptyTally();
    tally.set(activity.node, node);
    add(node, activity);
  };
  return { tally, count };
}

const emptyTally = (): NodeTally => ({
  usedBytes: 0n,
  capacityBytes: 0n,
  highestPercent: 0,
  reclaims: 0,
  freed: NOTHING_FREED,
  lastImage: null,
  removed: new Map(),
  stayed: new Map(),
  kept: new Map(),
});

function add(node: NodeTally, activity: Activity): void {
  switch (activity.kind) {
    case 'usage':
      Object.assign(node, { usedBytes: activity.usedBytes, capacityBytes: activity.capacityBytes });
      node.highestPercent = Math.max(node.highestPercent, usedPercent(node));
      return;
    case 'reclaim':
      node.reclaims += 1;
      return;
    case 'removed':
      node.freed = withFreed(node.freed, activity.freed);
      if (activity.object === 'image') node.lastImage = activity.name;
      increase(node.removed, `${wordOf(activity.object)}: ${activity.why}`);
      return;
    case 'stayed':
      increase(node.stayed, `${wordOf(activity.object)}: ${activity.reason}`);
      return;
    case 'gone-already':
      increase(node.stayed, `${wordOf(activity.object)}: was gone already`);
      return;
    case 'kept':
      node.kept.set(activity.object, activity.byReason);
      return;
    case 'unrelieved':
      return;
  }
}

const increase = (counts: Map<string, number>, key: string): void => {
  counts.set(key, (counts.get(key) ?? 0) + 1);
};

const wordOf = (kind: ObjectKind): string => OBJECT_KINDS[kind].words[0];

/** By kind and reason, as `removed` is. */
export const keptCounts = ({ kept }: NodeTally): ReadonlyMap<string, number> =>
  new Map(
    [...kept].flatMap(([object, byReason]) =>
      [...byReason].map(([reason, count]) => [`${wordOf(object)}: ${reason}`, count] as const),
    ),
  );

/** Rounded up, as the thresholds are compared (D6). */
export const usedPercent = ({
  usedBytes,
  capacityBytes,
}: Pick<NodeTally, 'usedBytes' | 'capacityBytes'>): number =>
  capacityBytes === 0n ? 0 : 100 - Number(((capacityBytes - usedBytes) * 100n) / capacityBytes);

import { addFreed, type FreedSums, NOTHING_FREED, withFreed } from '../../packages/decision/freed-space.ts';
import { type Activity, freedSumText } from '../../packages/documents/activity.ts';
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
const keptCounts = ({ kept }: NodeTally): ReadonlyMap<string, number> =>
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

/** Adds the counts of all nodes, most frequent first. */
function overall(
  tally: Tally,
  countsOf: (node: NodeTally) => ReadonlyMap<string, number>,
): [string, number][] {
  const sums = new Map<string, number>();
  for (const node of tally.values()) {
    for (const [key, count] of countsOf(node)) sums.set(key, (sums.get(key) ?? 0) + count);
  }
  return [...sums].toSorted(([a, m], [b, n]) => n - m || compareText(a, b));
}

const total = (counts: readonly [string, number][]): number =>
  counts.reduce((sum, [, count]) => sum + count, 0);

const counted = (heading: string, counts: readonly [string, number][]): string[] =>
  counts.length === 0
    ? []
    : [
        `${heading}: ${total(counts)}`,
        ...counts.map(([key, count]) => `${String(count).padStart(6)}  ${key}`),
      ];

interface SummaryNeeds {
  readonly tally: Tally;
  readonly logPath: string;
  /** Commands that can be asked of the log. */
  readonly questions: readonly string[];
}

/** What became of the nodes. */
export function nodesSummary(tally: Tally): string[] {
  const nodes = nodesByName(tally).map(
    ([name, node]) =>
      `  ${name}: ${usedPercent(node)} % used now, ${node.highestPercent} % at the most; freed ${freedSumText(node.freed)}`,
  );
  return [
    `Freed in all, as the disks tell: ${freedSumText(freedOf(tally))}.`,
    ...nodes,
    ...counted(
      'Removed',
      overall(tally, ({ removed }) => removed),
    ),
    ...counted(
      'Named by a command, but not removed',
      overall(tally, ({ stayed }) => stayed),
    ),
    ...counted('Kept by the last decisions about each node', overall(tally, keptCounts)),
  ];
}

/** What can be asked now. */
export const questionLines = ({ logPath, questions }: Omit<SummaryNeeds, 'tally'>): readonly string[] => [
  `Everything seen, decided and done is in the event log ${logPath}`,
  'Ask it:',
  ...questions.map((question) => `  ${question}`),
  ...(questions.some((question) => question.startsWith('bin/fleetgc approve '))
    ? ['The demo is over and nothing runs any more: what you approve is recorded, and stays where it is.']
    : []),
];

const freedOf = (tally: Tally): FreedSums =>
  tally.values().reduce((sums, { freed }) => addFreed(sums, freed), NOTHING_FREED);

const freedJson = ({ freedBytes, unmeasured, estimatedBytes }: FreedSums) => ({
  freedBytes: String(freedBytes),
  unmeasured,
  estimatedBytes: String(estimatedBytes),
});

/** The same for machines. Byte counts are decimal text, as in the events. */
export const summaryJson = ({ tally, logPath, questions }: SummaryNeeds) => ({
  kind: 'summary',
  ...freedJson(freedOf(tally)),
  nodes: nodesByName(tally).map(([name, node]) => ({
    node: name,
    usedPercent: usedPercent(node),
    highestPercent: node.highestPercent,
    ...freedJson(node.freed),
    reclaims: node.reclaims,
    removed: Object.fromEntries(node.removed),
    stayed: Object.fromEntries(node.stayed),
    kept: Object.fromEntries(keptCounts(node)),
  })),
  logPath,
  questions,
});

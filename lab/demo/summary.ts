import { freedSumText } from '../../cli/views/activity/freed-text.ts';
import { addFreed, type FreedSums, NOTHING_FREED } from '../../packages/decision/freed-space.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import { keptCounts, type NodeTally, nodesByName, type Tally, usedPercent } from './tally.ts';

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

export interface SummaryNeeds {
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

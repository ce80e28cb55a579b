import { kindName } from '../../schemas/events/cluster-objects.ts';
import { durationText } from '../../schemas/policy/value-text.ts';
import type {
  AuditSimulation,
  NodeSimulation,
  RemovedCounts,
  SimulationSums,
} from '../../schemas/reports/audit-simulation.ts';
import {
  type ClusterSimulation,
  Concluded,
  type ObjectDifference,
  type SimulatedCluster,
} from '../../schemas/reports/cluster-simulation.ts';
import { counted } from '../text/counted.ts';
import { jsonLines } from '../text/json-text.ts';
import { printableLine } from '../text/printable.ts';
import { shortHash } from '../text/short-hash.ts';
import { sizeText } from '../text/size-text.ts';
import { timeText } from '../text/time-text.ts';
import { nameOf } from './cluster.ts';
import { tableLines } from './text.ts';

const MOST_NODES = 40;
const MOST_REGRETS = 20;

/** For people: all of it, pool by pool, node by node, and what a simulation cannot know. */
export const simulationLines = (simulation: AuditSimulation): readonly string[] =>
  [
    ...comparedLines(simulation),
    '',
    ...sumLines(simulation),
    ...unknownLines(simulation),
    ...nodeLines(simulation),
    ...regretLines(simulation),
    '',
    'What a simulation cannot know:',
    ...simulation.assumptions.map((assumption) => `- ${assumption}`),
  ].map(printableLine);

function comparedLines({ compared, read, total, nodes }: AuditSimulation): readonly string[] {
  const unselected = nodes.filter(({ policies }) => policies.policy === null).length;
  return [
    `Simulated: ${policyNames(compared.policy)}`,
    `Against:   ${compared.against === null ? 'what happened' : policyNames(compared.against)}`,
    `On ${counted(read.inventories - read.incomplete, 'complete inventory', 'complete inventories')} of ${counted(total.nodes, 'node')}`,
    ...(unselected > 0
      ? [`No simulated policy selects ${counted(unselected, 'node')}: nothing goes there.`]
      : []),
  ];
}

const policyNames = (policies: AuditSimulation['compared']['policy']): string =>
  policies.map(({ name, hash }) => `${name} (${shortHash(hash)})`).join(', ');

type CountColumn = readonly [heading: string, of: (removed: RemovedCounts) => number];

const COUNTS: Readonly<Record<keyof RemovedCounts, CountColumn>> = {
  images: ['IMAGES', ({ images }) => images],
  containers: ['CONTAINERS', ({ containers }) => containers],
  sandboxes: ['SANDBOXES', ({ sandboxes }) => sandboxes],
  logs: ['LOGS', ({ logs }) => logs],
};

const COLUMNS = [
  ...Object.values(COUNTS).map(([heading]) => heading),
  'FREED',
  'REGRET',
  'UNRELIEVED',
  'TIME ABOVE',
  'HIGHEST USE',
];

const cells = ({
  removed,
  freedBytes,
  regrets,
  unrelieved,
  aboveMs,
  peakPercent,
}: SimulationSums): readonly string[] => [
  ...Object.values(COUNTS).map(([, of]) => String(of(removed))),
  sizeText(BigInt(freedBytes)),
  String(regrets),
  String(unrelieved),
  durationText(roundedMs(aboveMs)),
  peakPercent === null ? 'unknown' : `${peakPercent} %`,
];

const roundedMs = (ms: number): number => Math.round(ms / 1_000) * 1_000;

const sideNames = ({ compared }: AuditSimulation) =>
  [
    ['policy', 'simulated'],
    ['against', compared.against === null ? 'happened' : 'against'],
  ] as const;

function sumLines(simulation: AuditSimulation): readonly string[] {
  const { pools, total } = simulation;
  const named = pools.length > 1 ? pools.map(({ pool, ...sums }) => ({ name: pool ?? '(none)', sums })) : [];
  const rows = [...named, { name: 'all', sums: total }].flatMap(({ name, sums }) =>
    sideNames(simulation).map(([side, word]) => [name, String(sums.nodes), word, ...cells(sums[side])]),
  );
  return tableLines(['POOL', 'NODES', 'UNDER', ...COLUMNS], rows);
}

/** What of these sums is unknown or a guess. */
function unknownLines(simulation: AuditSimulation): readonly string[] {
  const { total, read } = simulation;
  const sides = sideNames(simulation).flatMap(([side, word]) => {
    const { unmeasured, guessed } = total[side];
    return [
      ...(unmeasured > 0
        ? [
            `${word}: of ${counted(unmeasured, 'removal')} nobody knows what was freed; they count as nothing.`,
          ]
        : []),
      ...(guessed > 0
        ? [`${word}: ${counted(guessed, 'image')} went to free inodes; how many are enough is a guess.`]
        : []),
    ];
  });
  const { observedMs, unknownMs } = total;
  const usage =
    unknownMs > 0
      ? [
          `For ${durationText(roundedMs(unknownMs))} of ${durationText(roundedMs(observedMs))}, all nodes added up, nobody knows how full imagefs was; TIME ABOVE leaves that out.`,
        ]
      : [];
  const { withoutDiskStats } = read;
  const past =
    withoutDiskStats > 0
      ? [
          `${counted(withoutDiskStats, 'inventory has', 'inventories have')} no disk statistics on the event log: no grace period could pass there.`,
        ]
      : [];
  const lines = [...usage, ...sides, ...past];
  return lines.length === 0 ? [] : ['', ...lines];
}

function nodeLines(simulation: AuditSimulation): readonly string[] {
  const { nodes } = simulation;
  if (nodes.length < 2) return nodes.flatMap(estimateLines);
  const shown = nodes.slice(0, MOST_NODES);
  const rows = shown.flatMap((node) =>
    sideNames(simulation).map(([side, word]) => [
      `${node.cluster}/${node.node}`,
      word,
      ...cells(node[side]),
      estimateText(node, side),
    ]),
  );
  const more = nodes.length - shown.length;
  return [
    '',
    ...tableLines(['NODE', 'UNDER', ...COLUMNS, 'ESTIMATE SINCE'], rows),
    ...(more > 0 ? [`… and ${more} more nodes; -o json has them all`] : []),
  ];
}

const estimateText = ({ estimatedFromMs }: NodeSimulation, side: 'policy' | 'against'): string => {
  const fromMs = estimatedFromMs[side];
  return fromMs === null ? '-' : timeText(fromMs);
};

const estimateLines = (node: NodeSimulation): readonly string[] => [
  '',
  node.estimatedFromMs.policy === null
    ? `${node.cluster}/${node.node} is always as it was recorded.`
    : `${node.cluster}/${node.node} is an estimate since ${estimateText(node, 'policy')}.`,
];

function regretLines(simulation: AuditSimulation): readonly string[] {
  const { regrets, regretWindowMs } = simulation;
  const heading = `Removed, and needed again within ${durationText(regretWindowMs)}:`;
  if (regrets.length === 0) return ['', `${heading} nothing`];
  const words = new Map(sideNames(simulation));
  const shown = regrets.slice(0, MOST_REGRETS);
  const rows = shown.map(({ side, cluster, node, name, sizeBytes, removedAtMs, neededAtMs }) => [
    words.get(side) ?? side,
    name,
    `${cluster}/${node}`,
    sizeBytes === null ? 'unknown' : sizeText(BigInt(sizeBytes)),
    timeText(removedAtMs),
    durationText(roundedMs(Math.max(0, neededAtMs - removedAtMs))),
  ]);
  const more = regrets.length - shown.length;
  return [
    '',
    heading,
    ...tableLines(['UNDER', 'IMAGE', 'NODE', 'SIZE', 'REMOVED', 'NEEDED AFTER'], rows),
    ...(more > 0 ? [`… and ${more} more; -o json has them all`] : []),
  ];
}

/** A line for each node and each regret, and one for all of it. */
export const simulationNdjson = ({ nodes, regrets, ...whole }: AuditSimulation): string =>
  jsonLines([
    ...nodes.map((node) => ({ part: 'node', ...node })),
    ...regrets.map((regret) => ({ part: 'regret', ...regret })),
    { part: 'summary', ...whole },
  ]);

const MOST_DIFFERENCES = 40;

/** For people: what becomes of the objects on both sides, where they differ, and what a simulation cannot know. */
export const clusterSimulationLines = (simulation: ClusterSimulation): readonly string[] =>
  [
    ...clusterComparedLines(simulation),
    '',
    ...clusterSumLines(simulation),
    ...differenceLines(simulation),
    '',
    'What a simulation cannot know:',
    ...simulation.assumptions.map((assumption) => `- ${assumption}`),
  ].map(printableLine);

function clusterComparedLines({ compared, read, clusters }: ClusterSimulation): readonly string[] {
  const unselected = clusters.filter(({ policies }) => policies.policy === null).length;
  return [
    `Simulated: ${policyNames(compared.policy)}`,
    `Against:   ${compared.against === null ? 'what happened' : policyNames(compared.against)}`,
    `On ${counted(read.facts, 'fact')} of ${counted(clusters.length, 'cluster')}`,
    ...(unselected > 0
      ? [`No simulated policy selects ${counted(unselected, 'cluster')}: everything stays there.`]
      : []),
  ];
}

const HEADINGS: Readonly<Record<Concluded, string>> = {
  deleted: 'DELETED',
  changed: 'CHANGED',
  held: 'HELD',
  'not-done': 'NOT DONE',
  'dry-run': 'DRY RUN',
  'not-ours': 'NOT OURS',
  kept: 'KEPT',
  undecided: 'UNDECIDED',
};

/** Columns in which nothing stands are left out. */
function clusterSumLines({ clusters, total, compared }: ClusterSimulation): readonly string[] {
  const used = Concluded.options.filter(
    (is) => total.policy[is] !== undefined || total.against[is] !== undefined,
  );
  const other = compared.against === null ? 'happened' : 'against';
  const rows = (cluster: string, side: Pick<SimulatedCluster, 'objects' | 'policy' | 'against'>) => [
    [cluster, 'simulated', String(side.objects), ...used.map((is) => String(side.policy[is] ?? 0))],
    [cluster, other, String(side.objects), ...used.map((is) => String(side.against[is] ?? 0))],
  ];
  return tableLines(
    ['CLUSTER', '', 'OBJECTS', ...used.map((is) => HEADINGS[is])],
    [
      ...(clusters.length === 1 ? [] : rows('all', total)),
      ...clusters.flatMap((each) => rows(each.cluster, each)),
    ],
  );
}

function differenceLines({ differences }: ClusterSimulation): readonly string[] {
  if (differences.length === 0) return ['', 'Nothing would have been decided differently.'];
  const more = differences.length - MOST_DIFFERENCES;
  return [
    '',
    ...tableLines(
      ['OBJECT', 'CLUSTER', 'SIMULATED', 'OTHERWISE', 'SINCE'],
      differences.slice(0, MOST_DIFFERENCES).map(differenceCells),
    ),
    ...(more > 0 ? [`… and ${more} more; -o json has them all`] : []),
  ];
}

const differenceCells = (difference: ObjectDifference): readonly string[] => [
  `${kindName(difference)} ${nameOf(difference)}`,
  difference.cluster,
  sideText(difference.policy),
  sideText(difference.against),
  timeText(difference.sinceMs),
];

const sideText = ({ is, rule }: ObjectDifference['policy']): string =>
  rule === null ? HEADINGS[is].toLowerCase() : `${HEADINGS[is].toLowerCase()} (${rule})`;

/** For programs: one difference on each line, and a summary at the end. */
export function clusterSimulationNdjson({ differences, ...summary }: ClusterSimulation): string {
  return jsonLines([
    ...differences.map((difference) => ({ part: 'difference', ...difference })),
    { part: 'summary', ...summary },
  ]);
}

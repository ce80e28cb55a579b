import { counted } from '../../../packages/text/counted.ts';
import { printableLine } from '../../../packages/text/printable.ts';
import { shortHash } from '../../../packages/text/short-hash.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import {
  type ClusterSimulation,
  Concluded,
  type ObjectDifference,
  type SimulatedCluster,
} from '../../../schemas/reports/cluster-simulation.ts';
import { tableLines } from '../../framework/output.ts';
import { jsonLine } from '../../framework/printable-documents.ts';
import { nameOf } from '../cluster/object-text.ts';

const MOST_DIFFERENCES = 40;

/** For people: what becomes of the objects on both sides, where they differ, and what a simulation cannot know. */
export const clusterSimulationLines = (simulation: ClusterSimulation): readonly string[] =>
  [
    ...comparedLines(simulation),
    '',
    ...sumLines(simulation),
    ...differenceLines(simulation),
    '',
    'What a simulation cannot know:',
    ...simulation.assumptions.map((assumption) => `- ${assumption}`),
  ].map(printableLine);

function comparedLines({ compared, read, clusters }: ClusterSimulation): readonly string[] {
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

const policyNames = (policies: ClusterSimulation['compared']['policy']): string =>
  policies.map(({ name, hash }) => `${name} (${shortHash(hash)})`).join(', ');

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
function sumLines({ clusters, total, compared }: ClusterSimulation): readonly string[] {
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
  return [
    ...differences.map((difference) => ({ part: 'difference', ...difference })),
    { part: 'summary', ...summary },
  ]
    .map((line) => `${jsonLine(line)}\n`)
    .join('');
}

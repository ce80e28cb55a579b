import { durationText } from '../../schemas/policy/value-text.ts';
import type { FleetNode, FleetNodes } from '../../schemas/reports/fleet-nodes.ts';
import type { Column } from './document.ts';
import { tableOf } from './text.ts';

/** One line a node, and what is wrong below. */
export function nodeLines(
  { nodes, readAtMs, unlocated = [] }: FleetNodes,
  isWide: boolean,
): readonly string[] {
  const warnings = [
    ...nodes.flatMap((node) =>
      node.warnings.map(({ message }) => `${node.cluster}/${node.node}: ${message}`),
    ),
    ...unlocated.map(({ cluster, node, message }) => `${cluster}/${node}: ${message}`),
  ];
  return [
    ...tableOf(nodes, [...columnsAt(readAtMs), ...(isWide ? WIDE_COLUMNS : [])]),
    ...(warnings.length === 0 ? [] : ['', ...warnings]),
  ];
}

type NodeColumn = Column<FleetNode, string, string | number | bigint>;

const columnsAt = (readAtMs: number): readonly NodeColumn[] => [
  ['Cluster', 'text', ({ cluster }) => cluster],
  ['Node', 'name', ({ node }) => node],
  ['Heard', 'text', ({ heardMs }) => agoText(readAtMs - heardMs)],
  ['Used', 'text', ({ filesystems }) => percentText(filesystems.imagefs)],
  ['Policy', 'text', ({ policy }) => policy?.name ?? '(none)'],
  ['Mode', 'text', modeText],
  ['Version', 'text', ({ versions }) => versions.fleetgc ?? 'unknown'],
  ['Warnings', 'text', ({ warnings }) => warnings.map(({ kind }) => kind).join(', ') || '-'],
];

const WIDE_COLUMNS: readonly NodeColumn[] = [
  ['Free', 'size', ({ filesystems: { imagefs } }) => (imagefs ? BigInt(imagefs.availableBytes) : '-')],
  ['Nodefs', 'text', ({ filesystems }) => percentText(filesystems.nodefs)],
  ['Containerfs', 'text', ({ filesystems }) => percentText(filesystems.containerfs)],
  ['Policy version', 'count', ({ policy }) => policy?.policyVersion ?? '-'],
  ['Instance', 'text', ({ nodeInstance }) => nodeInstance],
  ['Boot', 'text', ({ bootId }) => bootId],
  [
    'Labels',
    'text',
    ({ nodeLabels }) =>
      Object.entries(nodeLabels)
        .map(([name, value]) => `${name}=${value}`)
        .join(',') || '-',
  ],
];

/** What a node would do now. */
function modeText({ policy, pausedBecause }: FleetNode): string {
  if (pausedBecause !== null) return 'paused';
  return policy === null ? 'keeps all' : policy.mode;
}

const percentText = (use: FleetNode['filesystems']['imagefs']): string =>
  use === null ? 'unknown' : `${use.usedPercent} %`;

export const agoText = (ms: number): string =>
  `${durationText(Math.max(0, Math.round(ms / 1_000)) * 1_000)} ago`;

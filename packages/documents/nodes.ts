import { durationText } from '../../schemas/policy/value-text.ts';
import type { FleetNode, FleetNodes } from '../../schemas/reports/fleet-nodes.ts';
import { sizeText } from '../text/size-text.ts';
import { tableLines } from './text.ts';

/** One line a node, and what is wrong below. */
export function nodeLines({ nodes, readAtMs }: FleetNodes, isWide: boolean): readonly string[] {
  const columns = isWide ? [...COLUMNS, ...WIDE_COLUMNS] : COLUMNS;
  const rows = nodes.map((node) => columns.map(({ cell }) => cell(node, readAtMs)));
  const warnings = nodes.flatMap((node) =>
    node.warnings.map(({ message }) => `${node.cluster}/${node.node}: ${message}`),
  );
  return [
    ...tableLines(
      columns.map(({ header }) => header),
      rows,
    ),
    ...(warnings.length === 0 ? [] : ['', ...warnings]),
  ];
}

interface Column {
  readonly header: string;
  cell(node: FleetNode, readAtMs: number): string;
}

const COLUMNS: readonly Column[] = [
  { header: 'CLUSTER', cell: ({ cluster }) => cluster },
  { header: 'NODE', cell: ({ node }) => node },
  { header: 'HEARD', cell: ({ heardMs }, readAtMs) => agoText(readAtMs - heardMs) },
  { header: 'USED', cell: ({ filesystems }) => percentText(filesystems.imagefs) },
  { header: 'POLICY', cell: ({ policy }) => policy?.name ?? '(none)' },
  { header: 'MODE', cell: modeText },
  { header: 'VERSION', cell: ({ versions }) => versions.fleetgc ?? 'unknown' },
  {
    header: 'WARNINGS',
    cell: ({ warnings }) => warnings.map(({ kind }) => kind).join(', ') || '-',
  },
];

const WIDE_COLUMNS: readonly Column[] = [
  {
    header: 'FREE',
    cell: ({ filesystems: { imagefs } }) => (imagefs ? sizeText(BigInt(imagefs.availableBytes)) : '-'),
  },
  { header: 'NODEFS', cell: ({ filesystems }) => percentText(filesystems.nodefs) },
  { header: 'CONTAINERFS', cell: ({ filesystems }) => percentText(filesystems.containerfs) },
  { header: 'POLICY VERSION', cell: ({ policy }) => (policy ? String(policy.policyVersion) : '-') },
  { header: 'INSTANCE', cell: ({ nodeInstance }) => nodeInstance },
  { header: 'BOOT', cell: ({ bootId }) => bootId },
  {
    header: 'LABELS',
    cell: ({ nodeLabels }) =>
      Object.entries(nodeLabels)
        .map(([name, value]) => `${name}=${value}`)
        .join(',') || '-',
  },
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

import type { DatabaseSync } from 'node:sqlite';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import { FilesystemName } from '../../../schemas/events/filesystem.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import type { DashboardNode } from '../../../schemas/reports/dashboard.ts';
import type { FleetNode } from '../../../schemas/reports/fleet-nodes.ts';
import { effectivePolicy } from '../../policy/effective.ts';
import type { Origin } from '../../policy/setting-origins.ts';
import { diskRows, disksOf, readingRows } from '../projection/disk-rows.ts';
import { type DiskRow, SPAN_MS } from '../projection/rows.ts';
import { bigSum, bigSumOf } from './big-sum.ts';

/** More marks than this would cover the curve. */
const MOST_REMOVALS = 2_000;
/** Removals this close together are one reclaim to the eye. */
const TOGETHER_MS = 60_000;

interface NodeNeeds {
  readonly db: DatabaseSync;
  readonly node: FleetNode;
  /** Its newest, and when the log got them. */
  readonly stats: DiskStats;
  readonly policies: PolicySet;
  readonly hasInventory: boolean;
}

export const readNode = (needs: NodeNeeds): DashboardNode => ({
  node: needs.node,
  disks: disksWithPoints(needs),
  removals: removalsOf(needs.db, nodeKey(needs.node)),
  settings: settingsOf(needs),
  hasInventory: needs.hasInventory,
});

function disksWithPoints({ db, node, stats }: NodeNeeds): DashboardNode['disks'] {
  const key = nodeKey(node);
  const stored = db
    .prepare(
      'SELECT filesystem, span, least, most FROM disks JOIN node_numbers USING (number) WHERE node = ? ORDER BY span',
    )
    .all(key)
    .map(({ filesystem, span, least, most }) => ({
      filesystem: FilesystemName.parse(filesystem),
      span: Number(span),
      least: Number(least),
      most: Number(most),
    }));
  const newest = diskRows(key, stats, node.heardMs);
  return disksOf(stats.filesystems).map((filesystem) => ({
    filesystem,
    alsoCalled: FilesystemName.options.filter(
      (name) =>
        name !== filesystem && stats.filesystems[name]?.device === stats.filesystems[filesystem]?.device,
    ),
    points: [
      ...pointsOf([...stored, ...newest].filter((row) => row.filesystem === filesystem)),
      ...lastPoint(readingRows(key, stats.filesystems, node.heardMs), filesystem, node.heardMs),
    ],
  }));
}

/** What it is now ends the curve: a span is dated by its beginning. */
const lastPoint = (
  readings: readonly DiskRow[],
  filesystem: FilesystemName,
  atMs: number,
): DashboardNode['disks'][number]['points'] =>
  readings
    .filter((row) => row.filesystem === filesystem && atMs % SPAN_MS !== 0)
    .map(({ least, most }) => [atMs, least, most]);

interface SpanUse {
  readonly span: number;
  readonly least: number;
  readonly most: number;
}

function pointsOf(rows: readonly SpanUse[]): DashboardNode['disks'][number]['points'] {
  const spans = new Map<number, SpanUse>();
  for (const row of rows) {
    const known = spans.get(row.span) ?? row;
    const [least, most] = [Math.min(known.least, row.least), Math.max(known.most, row.most)];
    spans.set(row.span, { span: row.span, least, most });
  }
  return [...spans.values()]
    .toSorted((a, b) => a.span - b.span)
    .map(({ span, least, most }) => [span * SPAN_MS, least, most]);
}

function removalsOf(db: DatabaseSync, node: string): DashboardNode['removals'] {
  const rows = db
    .prepare(
      `SELECT max(at_ms) AS at, count(*) AS objects, count(freed_bytes) AS measured, ${bigSum('freed_bytes', 'freed')} FROM removals
       WHERE node = ? GROUP BY at_ms / ${TOGETHER_MS} ORDER BY at DESC LIMIT ${MOST_REMOVALS}`,
    )
    .all(node);
  return rows
    .map((row) => ({
      atMs: Number(row.at),
      objects: Number(row.objects),
      freedBytes: row.measured === 0 ? null : String(bigSumOf(row, 'freed')),
    }))
    .toReversed();
}

const settingsOf = ({ node, policies }: NodeNeeds): DashboardNode['settings'] =>
  effectivePolicy(policies, node, { isApplied: true }).settings.map(({ setting, value, origin }) => ({
    setting,
    value: value === null ? 'off' : typeof value === 'string' ? value : JSON.stringify(value),
    origin: ORIGINS[origin.kind] + (origin.kind === 'written' ? `, line ${origin.line}` : ''),
  }));

const ORIGINS: Readonly<Record<Origin['kind'], string>> = {
  written: 'written',
  'kubelet-configuration': 'default of KubeletConfiguration',
  'kubelet-flag': 'default of the kubelet’s flag',
  profile: 'default of the profile',
  'when-applied': 'default of the release that applied it',
  unknown: 'unknown: the text that was applied cannot be read',
};

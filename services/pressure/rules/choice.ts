import type { DiskStats } from '../../../schemas/disk-stats.ts';
import type { Met } from './signal.ts';

/** Disk statistics come once a minute while nothing changes. */
const TURN_MS = 60_000;

/**
 * The one reclaim to begin (J13). Thresholds of the same device and resource are one need, with the strictest of their
 * targets. Needs take turns by the minute of the reading, in the order of their thresholds, so that one that nothing
 * relieves does not keep the others waiting for ever.
 */
export function chosen(met: readonly Met[], { filesystems, takenAt }: DiskStats): Met | null {
  const needOf = ({ target }: Met): string =>
    `${target.resource} ${filesystems[target.filesystem]?.device ?? ''}`;
  const needs = [...Map.groupBy(met, needOf).values()];
  const need = needs[Math.floor(takenAt.sinceBootMs / TURN_MS) % needs.length];
  return need === undefined ? null : together(need);
}

/** An eviction signal gives the cause, since it allows what usage does not; else the strictest threshold does. */
function together(need: readonly Met[]): Met | null {
  const [strictest] = need.toSorted((a, b) => compare(BigInt(b.target.atLeast), BigInt(a.target.atLeast)));
  const lead = need.find(({ isForced }) => isForced) ?? strictest;
  if (lead === undefined || strictest === undefined) return null;
  const { atLeast } = strictest.target;
  if (atLeast === lead.target.atLeast) return lead;
  return {
    ...lead,
    target: { ...lead.target, atLeast },
    reason: `${lead.reason}; ${strictest.reason}`,
  };
}

const compare = (a: bigint, b: bigint): number => (a < b ? -1 : Number(a > b));

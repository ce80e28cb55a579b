import type { PolicySet } from '../../schemas/policy/policy.ts';
import type { NodeOddity } from './node-track.ts';
import type { StrayCluster } from './stray-clusters.ts';

/** What is warned of: the names are those of the metric and of `fleetgc nodes`. */
export const NODE_WARNINGS = ['clock', 'two-machines', 'stray-cluster'] as const;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export function oddityText(oddity: NodeOddity): string {
  switch (oddity.kind) {
    case 'clock': {
      const { aheadMs } = oddity;
      const how = aheadMs > 0 ? 'ahead of' : 'behind';
      return `its clock is ${roughly(Math.abs(aheadMs))} ${how} that of the log: ages of images and containers are wrong there. Set the clock, and look why it was not set`;
    }
    case 'two-machines':
      return `${oddity.machines} machines report under this name, in turns: each command reaches one of them. Give each a --node-name of its own`;
  }
}

export const strayText = ({ cluster, nodes, like, likeNodes }: StrayCluster): string =>
  `cluster ${cluster} has ${nodes === 1 ? '1 node' : `${nodes} nodes`}, and no policy names it; ${like} has ${likeNodes}. If --cluster is misspelt there, other policies hold for it than were meant. If the name is right, name it in a policy or a pause`;

function roughly(ms: number): string {
  const [span, word] =
    ms >= 2 * DAY_MS ? [DAY_MS, 'days'] : ms >= 2 * HOUR_MS ? [HOUR_MS, 'hours'] : [MINUTE_MS, 'minutes'];
  return `${Math.round(ms / span)} ${word}`;
}

/** Clusters that a policy or a pause names, so that they are meant. */
export const clustersNamedBy = ({
  policies,
  pauses,
}: Pick<PolicySet, 'policies' | 'pauses'>): ReadonlySet<string> =>
  new Set([
    ...policies.flatMap(({ policy }) => policy.selector.clusters),
    ...pauses.flatMap(({ selector }) => selector.clusters),
  ]);

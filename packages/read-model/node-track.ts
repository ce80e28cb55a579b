import { distance } from 'fastest-levenshtein';
import type { NodeIdentity } from '../../schemas/events/identity.ts';
import type { Instant } from '../../schemas/events/time.ts';
import type { PolicySet } from '../../schemas/policy/policy.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../process/durations.ts';

/** A node was heard: what its facts say of the machine they come from, and when the log got them. */
export interface Sighting {
  readonly nodeInstance: NodeIdentity['nodeInstance'];
  readonly takenAt: Instant;
  /** Epoch milliseconds, by the log's clock. */
  readonly loggedAtMs: number;
}

/** What is remembered of the sightings of one node key. */
export interface NodeTrack {
  readonly last: Sighting;
  /** By machine, when it was heard last, by the log's clock; the newest last, and no more than a few. */
  readonly machines: ReadonlyMap<string, number>;
  /** When a machine was heard again after another had spoken under the same name; `null`: never. */
  readonly twinsAtMs: number | null;
  /** The node's clock less the log's, as far as it is certain; 0 where they agree. */
  readonly clockAheadMs: number;
}

/**
 * Nodes publish disk statistics at least once a minute.
 * @limit Age of its last report after which a node is not reporting. Keep it above `PUBLISH_EVERY_MS`.
 */
export const SILENT_AFTER_MS = 5 * 60_000;
/**
 * Clocks that differ by less are as good as equal: facts wait for their batch, and for brokers that are away for a moment.
 * @limit Clock skew of a node before it is reported.
 */
const CLOCK_TOLERANCE_MS = 5 * 60_000;
/** So long a machine that fell silent is remembered, and so long two that alternated are told. */
const TWINS_MEMORY_MS = 30 * 60_000;
/** Of one name; who makes up more is told of as well by these. */
const MOST_MACHINES = 8;
/** Facts that came late come together: only those that are as far apart on the node as on the log came at their time. */
const APART_MS = 20_000;
const APART_TOLERANCE_MS = 10_000;

/** Takes sightings in the order of the log. */
export function track(before: NodeTrack | null, now: Sighting): NodeTrack {
  const machine = machineOf(now);
  const known = [...(before?.machines ?? [])].filter(([, atMs]) => now.loggedAtMs - atMs <= TWINS_MEMORY_MS);
  const isBack =
    before !== null && machineOf(before.last) !== machine && known.some(([name]) => name === machine);
  const others = known.filter(([name]) => name !== machine).slice(1 - MOST_MACHINES);
  const machines = new Map([...others, [machine, now.loggedAtMs]]);
  const twinsAtMs = isBack ? now.loggedAtMs : (before?.twinsAtMs ?? null);
  return { last: now, machines, twinsAtMs, clockAheadMs: clockAhead(before, now) };
}

/** Of one boot: a machine that was made a copy of another has its installation, and never its boot. */
const machineOf = ({ nodeInstance, takenAt }: Sighting): string => `${nodeInstance} ${takenAt.bootId}`;

/**
 * A fact cannot come before it was taken, so a clock that is ahead shows in one; one that is behind only in facts that did
 * not wait.
 */
function clockAhead(before: NodeTrack | null, now: Sighting): number {
  const aheadMs = now.takenAt.wallTimeMs - now.loggedAtMs;
  if (aheadMs > CLOCK_TOLERANCE_MS) return aheadMs;
  if (aheadMs >= -CLOCK_TOLERANCE_MS || before === null) return 0;
  if (machineOf(before.last) !== machineOf(now)) return 0;
  const apartMs = now.loggedAtMs - before.last.loggedAtMs;
  const takenApartMs = now.takenAt.sinceBootMs - before.last.takenAt.sinceBootMs;
  const cameAtOnce = apartMs >= APART_MS && Math.abs(apartMs - takenApartMs) <= APART_TOLERANCE_MS;
  return cameAtOnce ? aheadMs : before.clockAheadMs;
}

/** What is wrong with how a node reports, that no decision shows. */
type NodeAnomaly =
  | { readonly kind: 'clock'; readonly aheadMs: number }
  | { readonly kind: 'two-machines'; readonly machines: number };

/** `nowMs`: by the log's clock. */
export function anomaliesOf(
  { machines, twinsAtMs, clockAheadMs }: NodeTrack,
  nowMs: number,
): readonly NodeAnomaly[] {
  const isTwin = twinsAtMs !== null && nowMs - twinsAtMs <= TWINS_MEMORY_MS;
  return [
    ...(clockAheadMs === 0 ? [] : [{ kind: 'clock', aheadMs: clockAheadMs } as const]),
    ...(isTwin ? [{ kind: 'two-machines', machines: machines.size } as const] : []),
  ];
}

/** What is warned of by how nodes report. */
export const NODE_WARNINGS = ['clock', 'two-machines', 'stray-cluster'] as const;

export function anomalyText(anomaly: NodeAnomaly): string {
  switch (anomaly.kind) {
    case 'clock': {
      const { aheadMs } = anomaly;
      const how = aheadMs > 0 ? 'ahead of' : 'behind';
      return `its clock is ${roughly(Math.abs(aheadMs))} ${how} that of the event log: ages of images and containers are wrong there. Set the clock, and look why it was not set`;
    }
    case 'two-machines':
      return `${anomaly.machines} machines report under this name, in turns: each command reaches one of them. Give each a --node-name of its own`;
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

/** A cluster whose name looks like a slip for that of another. */
export interface StrayCluster {
  readonly cluster: string;
  readonly nodes: number;
  readonly like: string;
  readonly likeNodes: number;
}

/** A slip on one machine, or on the few that were set up in one go. */
const MOST_STRAY_NODES = 2;
const FEWEST_LIKE_NODES = 3;
const SHORTEST_NAME = 3;
/** Each small one is held against each large one, and names can be made up. */
const MOST_LARGE = 100;
const MOST_SMALL = 200;

/**
 * Clusters of one or two nodes, with a name that is one slip away from that of a larger cluster. Names that differ in digits
 * alone (`prod-1`, `prod-2`) are meant, and so are those that a policy names.
 */
export function strayClusters(
  nodesOf: ReadonlyMap<string, number>,
  namedByPolicies: ReadonlySet<string>,
): readonly StrayCluster[] {
  const large = [...nodesOf]
    .filter(([, nodes]) => nodes >= FEWEST_LIKE_NODES)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, MOST_LARGE);
  return [...nodesOf]
    .filter(([cluster, nodes]) => nodes <= MOST_STRAY_NODES && !namedByPolicies.has(cluster))
    .slice(0, MOST_SMALL)
    .flatMap(([cluster, nodes]): StrayCluster[] => {
      const like = large.find(([name]) => isSlip(cluster, name));
      return like === undefined ? [] : [{ cluster, nodes, like: like[0], likeNodes: like[1] }];
    });
}

function isSlip(name: string, meant: string): boolean {
  if (meant.length < SHORTEST_NAME || withoutDigits(name) === withoutDigits(meant)) return false;
  const [a, b] = [name.toLowerCase(), meant.toLowerCase()];
  return distance(a, b) <= 1 || areSwapped(a, b);
}

const withoutDigits = (name: string): string => name.replace(/[0-9]+/g, '');

/** Two letters side by side that changed places. */
function areSwapped(a: string, b: string): boolean {
  const at = [...a].findIndex((letter, index) => letter !== b[index]);
  return at >= 0 && `${a.slice(0, at)}${a.charAt(at + 1)}${a.charAt(at)}${a.slice(at + 2)}` === b;
}

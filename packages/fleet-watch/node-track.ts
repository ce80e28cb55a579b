import type { NodeIdentity } from '../../schemas/events/identity.ts';
import type { Instant } from '../../schemas/events/time.ts';

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

/** Clocks that differ by less are as good as equal: facts wait for their batch, and for brokers that are away for a moment. */
export const CLOCK_TOLERANCE_MS = 5 * 60_000;
/** So long a machine that fell silent is remembered, and so long two that alternated are told. */
export const TWINS_MEMORY_MS = 30 * 60_000;
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
export type NodeOddity =
  | { readonly kind: 'clock'; readonly aheadMs: number }
  | { readonly kind: 'two-machines'; readonly machines: number };

/** `nowMs`: by the log's clock. */
export function odditiesOf(
  { machines, twinsAtMs, clockAheadMs }: NodeTrack,
  nowMs: number,
): readonly NodeOddity[] {
  const isTwin = twinsAtMs !== null && nowMs - twinsAtMs <= TWINS_MEMORY_MS;
  return [
    ...(clockAheadMs === 0 ? [] : [{ kind: 'clock', aheadMs: clockAheadMs } as const]),
    ...(isTwin ? [{ kind: 'two-machines', machines: machines.size } as const] : []),
  ];
}

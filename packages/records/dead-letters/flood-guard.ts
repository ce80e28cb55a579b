import { FleetGcError } from '../../process/errors.ts';

/** A paused consumer lets one slice of each partition through this often, to see whether it still fails. */
const PROBE_INTERVAL_MS = 60_000;

/** Takes what became of an admitted slice. Tells whether the consumer pauses or resumes because of it. */
export type ReportSlice = (outcomes: readonly MessageOutcome[], nowMs: number) => 'paused' | 'resumed' | null;

export interface FloodGuard {
  /** Throws `FLOODED` while the consumer is paused and it is not time for the partition's next probe. */
  admit(partition: string, nowMs: number): ReportSlice;
  /** Why the consumer is paused, or `null`. */
  problem(): string | null;
}

interface Pause {
  readonly sinceMs: number;
  readonly failingKeys: number;
  readonly nextProbeMs: Map<string, number>;
}

/** Pauses a consumer when most of what it reads fails, and lets it go on by itself when that is over. */
export function createFloodGuard(): FloodGuard {
  const tally = createFloodTally();
  let pause: Pause | null = null;

  const reportUsual: ReportSlice = (outcomes, nowMs) => {
    tally.add(outcomes, nowMs);
    if (pause !== null || !outcomes.some(({ failed }) => failed)) return null;
    const failingKeys = tally.flood();
    if (failingKeys === null) return null;
    pause = { sinceMs: nowMs, failingKeys, nextProbeMs: new Map() };
    return 'paused';
  };
  const reportProbe: ReportSlice = (outcomes) => {
    if (pause === null || failsLikeFlood(outcomes)) return null;
    pause = null;
    return 'resumed';
  };

  return {
    admit: (partition, nowMs) => {
      if (pause === null) return reportUsual;
      const dueMs = pause.nextProbeMs.get(partition) ?? pause.sinceMs + PROBE_INTERVAL_MS;
      if (nowMs < dueMs) throw new FleetGcError('FLOODED', describe(pause));
      pause.nextProbeMs.set(partition, nowMs + PROBE_INTERVAL_MS);
      return reportProbe;
    },
    problem: () => pause && describe(pause),
  };
}

const describe = ({ failingKeys }: Pause): string =>
  `paused: messages of ${failingKeys} keys cannot be processed; look at gc.dead-letters. Tried again once a minute`;

/** How one message ended. */
export interface MessageOutcome {
  readonly key: string | null;
  readonly failed: boolean;
}

/**
 * More than this share of the messages of at least so many keys, within a minute, is a flood.
 * @limit Share of invalid messages at which a service pauses.
 */
const FLOOD_SHARE = 0.2;
/** @limit Keys that must send invalid messages for that pause. */
const FLOOD_KEYS = 5;
const WINDOW_MS = 60_000;
/** The share before a whole minute was seen: most nodes that report once a minute are not heard yet, and a few bad ones are. */
const FIRST_SHARE = 0.5;

const BUCKET_MS = 10_000;
/** Keys are given by whoever publishes; beyond so many in one bucket the rest count as one. */
const MAX_KEYS = 10_000;
const OTHER_KEYS = '';

interface Tally {
  total: number;
  failed: number;
}
type Tallies = Map<string, Tally>;

/** Messages and failures by key over the last minute. */
interface FloodTally {
  add(outcomes: readonly MessageOutcome[], nowMs: number): void;
  /** How many keys fail too often, when that is a flood; else `null`. */
  flood(): number | null;
}

/**
 * Every key weighs the same however much it sends, so that one bad node, or a few among many, stop nobody else: a flood
 * is when at least 5 keys fail more often than one time in five, and so do the keys on average; in the first minute, when
 * the keys on average fail every other time.
 */
function createFloodTally(): FloodTally {
  let beganMs: number | null = null;
  let seenMs = 0;
  let buckets: readonly { readonly startMs: number; readonly tallies: Tallies }[] = [];
  return {
    add: (outcomes, nowMs) => {
      beganMs ??= nowMs;
      seenMs = nowMs - beganMs;
      const recent = buckets.filter(({ startMs }) => nowMs - startMs < WINDOW_MS);
      const last = recent.at(-1);
      const fits = last !== undefined && nowMs - last.startMs < BUCKET_MS;
      const current = fits ? last : { startMs: nowMs, tallies: new Map() };
      tally(current.tallies, outcomes);
      buckets = fits ? recent : [...recent, current];
    },
    flood: () => {
      const window: Tallies = new Map();
      for (const { tallies } of buckets) for (const [key, each] of tallies) addTally(window, key, each);
      const failing = [...window.values()].filter((each) => share(each) > FLOOD_SHARE).length;
      const limit = seenMs < WINDOW_MS ? FIRST_SHARE : FLOOD_SHARE;
      return failing >= FLOOD_KEYS && averageShare(window) > limit ? failing : null;
    },
  };
}

/** Whether the messages of one slice fail as in a flood, whatever the number of their keys. */
const failsLikeFlood = (outcomes: readonly MessageOutcome[]): boolean =>
  averageShare(tally(new Map(), outcomes)) > FLOOD_SHARE;

function tally(tallies: Tallies, outcomes: readonly MessageOutcome[]): Tallies {
  for (const { key, failed } of outcomes) {
    addTally(tallies, key ?? OTHER_KEYS, { total: 1, failed: failed ? 1 : 0 });
  }
  return tallies;
}

function addTally(tallies: Tallies, key: string, { total, failed }: Tally): void {
  const name = tallies.has(key) || tallies.size < MAX_KEYS ? key : OTHER_KEYS;
  const known = tallies.get(name);
  if (known === undefined) tallies.set(name, { total, failed });
  else Object.assign(known, { total: known.total + total, failed: known.failed + failed });
}

const share = ({ total, failed }: Tally): number => failed / total;

const averageShare = (tallies: Tallies): number =>
  [...tallies.values()].reduce((sum, each) => sum + share(each), 0) / Math.max(tallies.size, 1);

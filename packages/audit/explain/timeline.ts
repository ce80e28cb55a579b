import type { StatedReason, TimelineEntry } from '../../../schemas/reports/timeline.ts';

type Repeated = Extract<TimelineEntry, { readonly times: number }>;

/** When something happened, by both clocks, and where the log says so. */
export type Moment = Pick<TimelineEntry, 'loggedAtMs' | 'nodeTimeMs' | 'record'>;

/** An entry that may still change, for as long as the log is read. */
export interface Noted {
  /** Replaces the entry, or takes it back. */
  readonly update: (change: (entry: TimelineEntry) => TimelineEntry | null) => void;
}

export interface Timeline {
  readonly note: (entry: TimelineEntry) => Noted;
  /** In the order in which they were noted. */
  readonly entries: () => readonly TimelineEntry[];
}

export function createTimeline(): Timeline {
  const entries: (TimelineEntry | null)[] = [];
  return {
    note: (entry) => {
      const index = entries.push(entry) - 1;
      return {
        update: (change) => {
          const now = entries[index];
          if (now) entries[index] = change(now);
        },
      };
    },
    entries: () => entries.filter((entry) => entry !== null),
  };
}

/** Makes one entry of equal events that follow each other. */
export interface Folding {
  /** `key` says what has to be equal. The last one's own fields hold, but the first one's times. */
  readonly note: (key: string, entry: Repeated) => Noted;
  /** What comes next begins a new entry, also when it is equal. */
  readonly interrupt: () => void;
}

export function createFolding(timeline: Timeline): Folding {
  let current: { readonly key: string; readonly noted: Noted } | null = null;
  return {
    note: (key, entry) => {
      if (current?.key === key) {
        current.noted.update((earlier) => ('times' in earlier ? repeatedBy(earlier, entry) : earlier));
        return current.noted;
      }
      current = { key, noted: timeline.note(entry) };
      return current.noted;
    },
    interrupt: () => {
      current = null;
    },
  };
}

function repeatedBy(earlier: Repeated, later: Repeated): Repeated {
  const { loggedAtMs, nodeTimeMs, record, ...rest } = later;
  const spread = spreadOf(earlier, later);
  return {
    ...rest,
    loggedAtMs: earlier.loggedAtMs,
    nodeTimeMs: earlier.nodeTimeMs,
    record: earlier.record,
    times: earlier.times + 1,
    last: { loggedAtMs, nodeTimeMs },
    ...(spread && { spread }),
  };
}

interface Spread {
  readonly least: StatedReason;
  readonly most: StatedReason;
}

const NUMBER = /\d+(?:\.\d+)?/g;

/** What entries that are told as one say with the least and with the most of each number; `null` where no number differs. */
function spreadOf(earlier: Repeated, later: Repeated): Spread | null {
  const now = saidBy(later);
  const { least, most } = earlier.spread ?? { least: saidBy(earlier), most: saidBy(earlier) };
  const spread = { least: merged(least, now, isLess), most: merged(most, now, isMore) };
  return JSON.stringify(spread.least) === JSON.stringify(spread.most) ? null : spread;
}

const saidBy = (entry: Repeated): StatedReason => ({
  reason: 'reason' in entry ? entry.reason : '',
  facts: 'facts' in entry ? entry.facts : {},
});

type Wins = (a: number, b: number) => boolean;
const isLess: Wins = (a, b) => a < b;
const isMore: Wins = (a, b) => a > b;

function merged(before: StatedReason, now: StatedReason, wins: Wins): StatedReason {
  const facts = Object.entries(now.facts).map(([name, value]) => {
    const old = before.facts[name];
    const isOld = typeof old === 'number' && typeof value === 'number' && wins(old, value);
    return [name, isOld ? old : value] as const;
  });
  return { reason: mergedText(before.reason, now.reason, wins), facts: Object.fromEntries(facts) };
}

/** Where the words differ too, there is nothing to compare. */
function mergedText(before: string, now: string, wins: Wins): string {
  if (before.replace(NUMBER, '0') !== now.replace(NUMBER, '0')) return now;
  const old = before.match(NUMBER) ?? [];
  let index = 0;
  return now.replace(NUMBER, (number) => {
    const other = old[index++] ?? number;
    return wins(Number(other), Number(number)) ? other : number;
  });
}

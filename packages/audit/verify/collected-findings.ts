import { ReadSpan } from '../events/reading.ts';
import {
  type Counts,
  type Deviation,
  type Findings,
  type Gap,
  type NotOurs,
  noCounts,
  type Unanswered,
} from './findings.ts';

/** So many of a kind are told; all are counted. */
export const MOST_TOLD = 1_000;

/** Findings of one sort, in as much as anybody reads; whoever wants more verifies a shorter time. */
export interface FoundList<Item> {
  readonly total: number;
  readonly byKind: Readonly<Record<string, number>>;
  readonly first: readonly Item[];
}

export interface Found {
  /** The time of the log that was read, epoch milliseconds; both `null` where no record lies in it. */
  readonly firstRecordMs: number | null;
  readonly lastRecordMs: number | null;
  readonly counts: Readonly<Counts>;
  readonly deviations: FoundList<Deviation>;
  readonly unverified: FoundList<Gap>;
  readonly notOurs: FoundList<NotOurs>;
  readonly unanswered: FoundList<Unanswered>;
}

export interface Collector extends Findings {
  /** A record of this time was read. */
  readonly passed: (timestampMs: number) => void;
  readonly found: () => Found;
}

/** Collects findings in bounded memory. */
export function createCollector(): Collector {
  const counts = noCounts();
  const deviations = createList<Deviation>();
  const gaps = createList<Gap>();
  const notOurs = createList<NotOurs>();
  const unanswered = createList<Unanswered>();
  const span = new ReadSpan();
  return {
    counts,
    passed: (timestampMs) => span.reach(timestampMs),
    deviation: deviations.add,
    gap: gaps.add,
    notOurs: notOurs.add,
    unanswered: unanswered.add,
    found: () => ({
      firstRecordMs: span.firstMs,
      lastRecordMs: span.lastMs,
      counts,
      deviations: deviations.found(),
      unverified: gaps.found(),
      notOurs: notOurs.found(),
      unanswered: unanswered.found(),
    }),
  };
}

/** What several partitions have shown, together. */
export function mergeFound(all: readonly Found[]): Found {
  const counts = noCounts();
  const span = new ReadSpan();
  for (const found of all) {
    addCounts(counts, found.counts);
    for (const ms of [found.firstRecordMs, found.lastRecordMs]) if (ms !== null) span.reach(ms);
  }
  return {
    firstRecordMs: span.firstMs,
    lastRecordMs: span.lastMs,
    counts,
    deviations: mergeLists(all.map(({ deviations }) => deviations)),
    unverified: mergeLists(all.map(({ unverified }) => unverified)),
    notOurs: mergeLists(all.map(({ notOurs }) => notOurs)),
    unanswered: mergeLists(all.map(({ unanswered }) => unanswered)),
  };
}

function createList<Item extends { readonly kind: string }>() {
  const first: Item[] = [];
  const byKind = new Map<string, number>();
  return {
    add: (item: Item): void => {
      const before = byKind.get(item.kind) ?? 0;
      byKind.set(item.kind, before + 1);
      if (before < MOST_TOLD) first.push(item);
    },
    found: (): FoundList<Item> => ({ total: sumOf(byKind), byKind: Object.fromEntries(byKind), first }),
  };
}

function mergeLists<Item extends { readonly kind: string }>(
  lists: readonly FoundList<Item>[],
): FoundList<Item> {
  const { add, found } = createList<Item>();
  for (const { first } of lists) first.forEach(add);
  const byKind = new Map<string, number>();
  for (const list of lists)
    for (const [kind, count] of Object.entries(list.byKind))
      byKind.set(kind, (byKind.get(kind) ?? 0) + count);
  return { total: sumOf(byKind), byKind: Object.fromEntries(byKind), first: found().first };
}

const sumOf = (byKind: ReadonlyMap<string, number>): number =>
  [...byKind.values()].reduce((sum, count) => sum + count, 0);

const isCount = (key: string, counts: Counts): key is keyof Counts => key in counts;

function addCounts(counts: Counts, more: Readonly<Counts>): void {
  for (const key of Object.keys(counts)) if (isCount(key, counts)) counts[key] += more[key];
}

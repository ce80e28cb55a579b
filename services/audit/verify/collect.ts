import {
  type Counts,
  type Deviation,
  type Findings,
  type Gap,
  type GapKind,
  type NotOurs,
  noCounts,
} from './findings.ts';

/** So many of a kind are told; all are counted. */
const MOST_TOLD = 1_000;

/** What was found, in as much as anybody reads; whoever wants more verifies a shorter time. */
export interface Found {
  readonly counts: Readonly<Counts>;
  readonly deviations: { readonly total: number; readonly first: readonly Deviation[] };
  readonly unverified: {
    readonly total: number;
    readonly byKind: Readonly<Partial<Record<GapKind, number>>>;
    readonly first: readonly Gap[];
  };
  readonly notOurs: {
    readonly total: number;
    readonly byKind: Readonly<Partial<Record<NotOurs['kind'], number>>>;
    readonly first: readonly NotOurs[];
  };
}

export interface Collector extends Findings {
  readonly found: () => Found;
}

/** Collects findings in bounded memory. */
export function createCollector(): Collector {
  const counts = noCounts();
  const deviations = createList<Deviation>();
  const gaps = createList<Gap>();
  const notOurs = createList<NotOurs>();
  return {
    counts,
    deviation: deviations.add,
    gap: gaps.add,
    notOurs: notOurs.add,
    found: () => ({
      counts,
      deviations: { total: deviations.total(), first: deviations.first },
      unverified: { total: gaps.total(), byKind: Object.fromEntries(gaps.byKind), first: gaps.first },
      notOurs: { total: notOurs.total(), byKind: Object.fromEntries(notOurs.byKind), first: notOurs.first },
    }),
  };
}

function createList<Item extends { readonly kind: string }>() {
  const first: Item[] = [];
  const byKind = new Map<string, number>();
  return {
    first,
    byKind,
    add: (item: Item): void => {
      const before = byKind.get(item.kind) ?? 0;
      byKind.set(item.kind, before + 1);
      if (before < MOST_TOLD) first.push(item);
    },
    total: (): number => [...byKind.values()].reduce((sum, count) => sum + count, 0),
  };
}

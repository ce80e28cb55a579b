import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toldLife } from '../../../../packages/audit/explain/cluster-life.ts';
import type {
  ClusterEntryOf,
  ClusterTimelineEntry,
} from '../../../../schemas/reports/cluster-explanation.ts';

const BASE = {
  loggedAtMs: 1,
  record: { topic: 'gc.cluster.ownership', partition: 0, offset: '1' },
  clusterTimeMs: 1,
};
const gone: ClusterEntryOf<'settled'> = { what: 'settled', ...BASE, how: 'gone', byFleetGc: false };
const answered: ClusterEntryOf<'result'> = {
  what: 'result',
  ...BASE,
  commandId: 'c',
  wholeCommand: false,
  action: 'delete',
  rule: 'D1',
  outcome: 'removed',
  reason: null,
  message: null,
  attempts: 1,
  requests: 1,
  owners: [],
  node: null,
};
const told: ClusterEntryOf<'candidate'> = {
  what: 'candidate',
  ...BASE,
  as: 'owned',
  how: 'first',
  isBeingDeleted: false,
  finalizers: [],
  keptBy: null,
  owners: [],
  facts: {},
};

const lifeOf = (entries: readonly ClusterTimelineEntry[]) =>
  toldLife({
    cluster: 'c1',
    object: { group: '', kind: 'ConfigMap', namespace: 'ns', name: 'x', uid: 'x' },
    happened: entries.map((entry, orderMs) => ({ orderMs, entry })),
  });

test('an object that is told to be gone again and again is explained in work that grows with what is told', () => {
  const most = 2_000;
  let looks = 0;
  const counting = <Entry extends ClusterTimelineEntry>(entry: Entry): Entry =>
    Object.defineProperty({ ...entry }, 'what', {
      enumerable: true,
      get: () => {
        looks += 1;
        return entry.what;
      },
    });
  const life = lifeOf([...Array.from({ length: most }, () => counting(gone)), counting(answered)]);
  expect(life.timeline).toHaveLength(most + 1);
  expect(looks).toBeLessThan(20 * most);
});

test('an object may have any number of entries', () => {
  expect(lifeOf(Array.from({ length: 600_000 }, () => gone))).toMatchObject({ firstMs: 1, lastMs: 1 });
});

/** As it is said in words: between when it was gone before and when it is told again, a result tells that it was deleted. */
function isDeletedAround(all: readonly ClusterTimelineEntry[], place: number): boolean {
  const isGone = (entry: ClusterTimelineEntry): boolean => entry.what === 'settled' && entry.how === 'gone';
  const begin = all.slice(0, place).findLastIndex(isGone) + 1;
  const until = all[place]?.clusterTimeMs ?? 0;
  const end = all.findIndex(
    (entry, index) => index > place && entry.what === 'candidate' && (entry.clusterTimeMs ?? 0) > until,
  );
  return all
    .slice(begin, end < 0 ? undefined : end)
    .some((entry) => entry.what === 'result' && entry.outcome === 'removed');
}

test('FleetGC deleted what a result tells of between the times at which it was gone and told again', () => {
  const anEntry = fc
    .record({ entry: fc.constantFrom(gone, answered, told), clusterTimeMs: fc.nat({ max: 4 }) })
    .map(({ entry, clusterTimeMs }): ClusterTimelineEntry => ({ ...entry, clusterTimeMs }));
  fc.assert(
    fc.property(fc.array(anEntry, { maxLength: 12 }), (all) => {
      const expected = all.flatMap((entry, place) =>
        entry.what === 'settled' ? [isDeletedAround(all, place)] : [],
      );
      const found = lifeOf(all).timeline.flatMap((entry) =>
        entry.what === 'settled' ? [entry.byFleetGc] : [],
      );
      expect(found).toEqual(expected);
    }),
  );
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clusterOutput } from '../../../packages/decision/handler.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { readOwnerGraph } from '../../../packages/read-model/objects.ts';
import { PROJECT } from '../../../packages/read-model/project.ts';
import type { Store } from '../../../packages/read-model/store.ts';
import { census } from '../../fixtures/census.ts';
import { clusterCommandResult, clusterObject, clusterObjectResults } from '../../fixtures/cluster.ts';
import { candidate, owner, ownership } from '../../fixtures/ownership.ts';
import { DAY, HOUR, MINUTE, NOW } from '../../fixtures/time.ts';
import { recordOf } from '../../support/logs/log-record.ts';
import { runs } from '../../support/property-runs.ts';
import { openStore, rowsOf } from './support/test-store.ts';

const OUTCOMES = ['removed', 'accepted', 'patched', 'not-found', 'rehearsed'] as const;

/** A record of what a cluster may have told in this minute. */
function recordIn(minute: number, kind: number): LogRecord {
  const cluster = `c${kind % 2}`;
  const uid = `x${(minute + kind) % 4}`;
  const place = { offset: BigInt(minute), timestampMs: NOW + minute * MINUTE };
  switch (kind % 5) {
    case 0:
      return recordOf(
        clusterOutput('clusterCensus', {
          ...census(),
          cluster,
          totals: { kinds: 1, objects: minute },
          ...(minute % 3 > 0 && { kinds: [{ group: '', kind: '__proto__', objects: minute }] }),
        }),
        place,
      );
    case 1:
    case 2:
      return recordOf(
        clusterOutput(
          'clusterOwnership',
          ownership({
            cluster,
            candidates: [
              candidate({
                object: { uid, finalizers: minute % 2 === 0 ? ['a/b'] : [] },
                references: [owner(`o${minute % 3}`, { state: minute % 2 === 0 ? 'gone' : 'held' })],
              }),
            ],
          }),
        ),
        place,
      );
    case 3:
      return recordOf(
        clusterOutput(
          'clusterOwnership',
          ownership({
            cluster,
            settled: [{ group: '', kind: 'ConfigMap', namespace: 'ns', name: 'x', uid, how: 'gone' }],
          }),
        ),
        place,
      );
    default: {
      const outcome = OUTCOMES[minute % OUTCOMES.length] ?? 'removed';
      const [told] = clusterObjectResults().objects;
      if (told === undefined) throw new Error('there is one');
      const objects = [uid, `y${minute}`].map((each) => ({
        ...told,
        object: clusterObject({ uid: each }),
        result: { outcome },
      }));
      return recordOf(
        clusterOutput('clusterResults', clusterObjectResults({ id: `results-${minute}`, cluster, objects })),
        place,
      );
    }
  }
}

const TABLES = {
  censuses: 'cluster',
  census_points: 'cluster, step_ms, slot',
  cluster_outcomes: 'cluster, id, position',
  cluster_objects: 'cluster, uid',
  cluster_settled: 'cluster, uid',
  cluster_owners: 'cluster, owner_uid, uid',
  cluster_deeds: 'cluster, uid',
};

const contentOf = ({ db }: Store): unknown =>
  Object.entries(TABLES).map(([table, key]) => db.prepare(`SELECT * FROM ${table} ORDER BY ${key}`).all());

const countIn = ({ db }: Store, table: keyof typeof TABLES): number =>
  Number(db.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.count);

describe('what clusters told is the same', () => {
  test('in whatever order its records come, however often, and in whatever portions', () => {
    const record = fc.tuple(fc.nat(300), fc.nat(9)).map(([minute, kind]) => recordIn(minute, kind));
    const history = fc.uniqueArray(record, {
      minLength: 1,
      maxLength: 25,
      selector: ({ topic, key, offset }) => `${topic} ${key} ${offset}`,
    });
    fc.assert(
      fc.property(
        history.chain((records) =>
          fc.tuple(
            fc.constant(records),
            fc.shuffledSubarray([...records, ...records], {
              minLength: records.length * 2,
              maxLength: records.length * 2,
            }),
            fc.integer({ min: 1, max: 5 }),
          ),
        ),
        ([records, again, portion]) => {
          using once = openStore();
          once.apply(records.flatMap(rowsOf));
          using other = openStore();
          for (let from = 0; from < again.length; from += portion)
            other.apply(again.slice(from, from + portion).flatMap(rowsOf));
          expect(contentOf(other)).toEqual(contentOf(once));
          for (const uid of ['x0', 'x1', 'o0', 'o1'])
            expect(readOwnerGraph(other.db, { cluster: 'c1', uid }, null)).toEqual(
              readOwnerGraph(once.db, { cluster: 'c1', uid }, null),
            );
        },
      ),
      runs(60),
    );
  });
});

test('what came of objects is counted by what is the same of it', () => {
  const [told] = clusterObjectResults().objects;
  if (told === undefined) throw new Error('there is one');
  const refused = { outcome: 'refused', reason: 'changed', message: 'it is another one' } as const;
  const rows = PROJECT.clusterResults(
    clusterObjectResults({
      objects: [
        told,
        { ...told, object: clusterObject({ uid: 'y' }) },
        { ...told, object: clusterObject({ uid: 'z', group: 'apps', kind: 'ReplicaSet' }) },
        { ...told, object: clusterObject({ uid: 'w' }), result: refused },
      ],
    }),
    { timestampMs: NOW, offset: 1n },
  );
  expect(rows.filter(({ table }) => table === 'cluster_outcomes')).toMatchObject([
    { position: 0, kind: 'ConfigMap', outcome: 'removed', objects: 2 },
    { position: 1, kind: 'apps/ReplicaSet', outcome: 'removed', objects: 1 },
    { position: 2, kind: 'ConfigMap', outcome: 'refused', reason: 'changed', objects: 1 },
  ]);
  expect(rows.filter(({ table }) => table === 'cluster_deeds')).toHaveLength(4);
  expect(PROJECT.clusterResults(clusterCommandResult(), { timestampMs: NOW, offset: 2n })).toEqual([]);
});

test('a cluster that takes the ids of another one hides nothing', () => {
  using store = openStore();
  store.apply([4, 9].flatMap((kind) => rowsOf(recordIn(0, kind))));
  const rows = store.db.prepare('SELECT cluster, id FROM cluster_outcomes ORDER BY cluster').all();
  expect(rows).toMatchObject([
    { cluster: 'c0', id: 'results-0' },
    { cluster: 'c1', id: 'results-0' },
  ]);
});

describe('what is kept of clusters', () => {
  test('is a point for ten minutes of the last day, and one for each hour before', () => {
    using store = openStore();
    const minutes = Array.from({ length: 20 }, (_, index) => index * 6);
    store.apply(minutes.map((minute) => recordIn(minute, 0)).flatMap(rowsOf));
    const fine = countIn(store, 'census_points');
    expect(fine).toBe(12 + 2);
    store.prune(NOW + HOUR + DAY);
    expect(countIn(store, 'census_points')).toBe(6 + 2);
    store.prune(NOW + 5 * DAY);
    expect(countIn(store, 'census_points')).toBe(2);
  });

  test('goes with the history', () => {
    using store = openStore();
    store.apply([0, 1, 3, 4].flatMap((kind) => rowsOf(recordIn(0, kind))));
    store.prune(NOW + 15 * DAY);
    for (const table of ['censuses', 'cluster_outcomes', 'cluster_objects', 'cluster_owners'] as const)
      expect(countIn(store, table), table).toBe(0);
  });
});

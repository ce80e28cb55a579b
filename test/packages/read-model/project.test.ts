import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { setsOfEntries } from '../../../packages/policy/policy-reading.ts';
import { readFreed } from '../../../packages/read-model/history.ts';
import { Held } from '../../../packages/read-model/images-on-nodes.ts';
import { namesOfObject } from '../../../packages/read-model/names.ts';
import { Fleet } from '../../../packages/read-model/nodes.ts';
import { namesIn, PROJECT } from '../../../packages/read-model/project.ts';
import { shareOf } from '../../../packages/read-model/prune.ts';
import { FleetPlaces, Projector } from '../../../packages/read-model/read.ts';
import type { Row } from '../../../packages/read-model/rows.ts';
import { nextGap, type Span, type Store, withSpan } from '../../../packages/read-model/store.ts';
import { openTables } from '../../../packages/read-model/tables.ts';
import { keyOf } from '../../../packages/records/parse/record-key.ts';
import { deadLetter } from '../../cli/verbs/dead-letters/letters.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { objectResult, pressureUnrelieved, refusedCommand, removed } from '../../fixtures/results.ts';
import { DAY, HOUR, instant, MINUTE, NOW } from '../../fixtures/time.ts';
import { recordOf } from '../../support/logs/log-record.ts';
import { runs } from '../../support/property-runs.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { BOUNDS, BROKEN, EVERYBODY, openStore, projectorInto, rowsOf } from './support/test-store.ts';

const at = (minute: number) =>
  instant({ wallTimeMs: NOW + minute * MINUTE, sinceBootMs: DAY + minute * MINUTE });

/** A dead letter, or the note that it was put back. Ids come again: a letter may lie on the log twice. */
function letterIn(minute: number, kind: number, place: Partial<LogRecord>): LogRecord {
  const letter = deadLetter({ id: `letter-${minute % 5}`, message: `at ${minute}` });
  const { key } = letter;
  const note = { type: 'fleetgc.dead-letter-redrive', version: 1, id: `redrive-${minute}` } as const;
  const event = kind % 2 === 0 ? letter : { ...note, deadLetterId: letter.id, key };
  return recordOf({ topic: 'deadLetters', key: keyOf('deadLetters', event), event }, place);
}

/** A record of what a node may have published in this minute. */
function recordIn(minute: number, kind: number): LogRecord {
  const node = `web-${kind % 2}`;
  const place = { offset: BigInt(minute), timestampMs: NOW + minute * MINUTE };
  const available = String((minute * 37 + kind * 11) % 1000);
  if (kind >= 10) return letterIn(minute, kind, place);
  switch (kind % 5) {
    case 0:
    case 1:
      return recordOf(
        nodeOutput(
          'diskStats',
          diskStats(
            { availableBytes: available },
            { id: `stats-${minute}-${kind}`, node, takenAt: at(minute) },
          ),
        ),
        place,
      );
    case 2:
      return recordOf(
        nodeOutput(
          'inventory',
          inventory({
            id: `inventory-${minute}`,
            node,
            takenAt: at(minute),
            images: [image(`image-${minute % 7}`)],
          }),
        ),
        place,
      );
    case 3:
      return recordOf(
        nodeOutput(
          'results',
          objectResult({ id: `result-${minute}`, node, result: removed(minute % 3 === 0 ? null : minute) }),
        ),
        place,
      );
    default:
      return recordOf(nodeOutput('results', refusedCommand({ id: `refused-${minute}`, node })), place);
  }
}

/** All that is in a projection, but not by which numbers it calls nodes. */
function contentOf({ db }: Store): unknown {
  const all = (sql: string) => db.prepare(sql).all();
  return {
    nodes: all('SELECT * FROM nodes ORDER BY node'),
    inventories: all('SELECT * FROM inventories ORDER BY node'),
    disks: all(
      'SELECT node, span, filesystem, least, most FROM disks JOIN node_numbers USING (number) ORDER BY node, span, filesystem',
    ),
    removals: all('SELECT * FROM removals ORDER BY id, node'),
    activity: all('SELECT * FROM activity ORDER BY id, node'),
    names: all('SELECT * FROM names ORDER BY kind, id, name'),
    letters: all('SELECT * FROM letters ORDER BY id'),
    redrives: all('SELECT * FROM redrives ORDER BY partition, offset'),
  };
}

describe('a projection is the same', () => {
  test('in whatever order its records come, however often, and in whatever portions', () => {
    const record = fc.tuple(fc.nat(300), fc.nat(13)).map(([minute, kind]) => recordIn(minute, kind));
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
        },
      ),
      runs(60),
    );
  });

  test('though a node takes the ids of another', () => {
    using store = openStore();
    store.apply([8, 3].map((kind) => recordIn(5, kind)).flatMap(rowsOf));
    expect(contentOf(store)).toMatchObject({
      removals: [
        { id: 'result-5', node: 'prod/web-0' },
        { id: 'result-5', node: 'prod/web-1' },
      ],
      activity: [{ node: 'prod/web-0' }, { node: 'prod/web-1' }],
    });
  });

  test('a failure in the middle leaves nothing of it', () => {
    using store = openStore();
    const rows = rowsOf(recordIn(1, 3));
    expect(() =>
      store.apply([...rows, BROKEN], [{ topic: 'results', span: { fromMs: 1, toMs: 2 } }]),
    ).toThrow();
    expect(contentOf(store)).toMatchObject({ removals: [], activity: [] });
    expect(store.covered('results')).toEqual([]);
  });
});

test('the curve of a disk is the two hours that its statistics carry, by the clock of the log', () => {
  const history = {
    availableBytes: [[DAY - HOUR, '200', '400', '300'] as [number, string, string, string]],
    inodesFree: [],
  };
  const stats = diskStats(
    { availableBytes: '100' },
    { takenAt: at(0), history: { nodefs: history, imagefs: history, containerfs: history } },
  );
  const rows = PROJECT.diskStats(stats, { timestampMs: NOW + 5_000, offset: 1n }).filter(
    ({ table }) => table === 'disks',
  );
  // One disk under three names is told once.
  expect(rows).toEqual([
    {
      table: 'disks',
      node: 'prod/web-1',
      filesystem: 'imagefs',
      span: (NOW - HOUR) / (10 * MINUTE),
      least: 600,
      most: 800,
    },
    {
      table: 'disks',
      node: 'prod/web-1',
      filesystem: 'imagefs',
      span: NOW / (10 * MINUTE),
      least: 900,
      most: 900,
    },
  ]);
});

test('of a node that tells of other times the curve has its present alone', () => {
  const points = [-400 * DAY, 400 * DAY].map((ms): [number, string, string, string] => [
    ms,
    '200',
    '400',
    '300',
  ]);
  const history = { availableBytes: points, inodesFree: [] };
  const stats = diskStats(
    { availableBytes: '100' },
    { takenAt: at(0), history: { nodefs: history, imagefs: history, containerfs: history } },
  );
  const rows = PROJECT.diskStats(stats, { timestampMs: NOW, offset: 1n });
  expect(rows.filter(({ table }) => table === 'disks')).toMatchObject([{ span: NOW / (10 * MINUTE) }]);
});

describe('what no table can hold', () => {
  const absurd = (minute: number, afterBytes: string): LogRecord =>
    recordOf(
      nodeOutput(
        'results',
        objectResult({
          id: `result-${minute}`,
          node: 'web-0',
          result: {
            outcome: 'removed',
            durationMs: 5,
            estimatedBytes: null,
            measured: { filesystem: 'imagefs', beforeBytes: '0', afterBytes },
          },
        }),
      ),
      { offset: BigInt(minute), timestampMs: NOW + minute * MINUTE },
    );

  test('counts as not measured', () => {
    using store = openStore();
    store.apply(rowsOf(absurd(1, String(2n ** 64n - 1n))));
    expect(contentOf(store)).toMatchObject({ removals: [{ freed_bytes: null }] });
  });

  test('in sum is told all the same', () => {
    using store = openStore();
    for (const minute of [1, 2]) store.apply(rowsOf(absurd(minute, String(2n ** 63n - 1n))));
    expect(readFreed(store.db, { fromMs: 0, toMs: null }, null)).toMatchObject({
      objects: 2,
      freedBytes: String(2n ** 64n - 2n),
    });
  });

  test('is left out and counted, and the rest is written', () => {
    using store = openStore();
    const projector = projectorInto(store);
    const [good] = rowsOf(recordIn(1, 3));
    if (good === undefined) throw new Error('there is no row');
    projector.put([BROKEN, good]);
    projector.flush([{ topic: 'results', span: { fromMs: 1, toMs: 2 } }]);
    expect(contentOf(store)).toMatchObject({ removals: [{ id: 'result-1' }], names: [] });
    expect(projector.unreadable).toBe(1);
    expect(store.covered('results')).toEqual([{ fromMs: 1, toMs: 2 }]);
  });
});

test('what nobody could relieve is told once, whoever says it', () => {
  const event = pressureUnrelieved();
  const place = { timestampMs: NOW, offset: 1n };
  expect(PROJECT.decisions(event, place)).toEqual(PROJECT.results(event, place));
});

describe('a projection stays within its bounds', () => {
  test('by age: what is older goes, and counts as not read', () => {
    using store = openStore({ ...BOUNDS, historyMs: HOUR });
    store.apply(
      [...rowsOf(recordIn(0, 3)), ...rowsOf(recordIn(59, 3)), ...rowsOf(recordIn(0, 0))],
      [{ topic: 'results', span: { fromMs: NOW, toMs: NOW + HOUR } }],
    );
    store.prune(NOW + 90 * MINUTE);
    expect(contentOf(store)).toMatchObject({ removals: [{ id: 'result-59' }] });
    expect(store.covered('results')).toEqual([{ fromMs: NOW + 30 * MINUTE, toMs: NOW + HOUR }]);
    expect(store.keepsSinceMs('results')).toBe(NOW + 30 * MINUTE);
  });

  test('by number: the newest lines stay, and older ones are not asked for again', () => {
    using store = openStore({ ...BOUNDS, mostActivity: 3 });
    store.apply([1, 2, 3, 4, 5].flatMap((minute) => rowsOf(recordIn(minute, 4))));
    store.prune(NOW + HOUR);
    expect(contentOf(store)).toMatchObject({
      activity: [3, 4, 5].map((minute) => ({ id: `refused-${minute}` })),
    });
    expect(store.keepsSinceMs('decisions')).toBe(NOW + 2 * MINUTE);
  });

  test('by number of dead letters: the newest stay, and older ones are not asked for again', () => {
    using store = openStore({ ...BOUNDS, mostLetters: 2 });
    for (const minute of [1, 2, 3, 4]) store.apply(rowsOf(recordIn(minute, 10)));
    store.prune(NOW + HOUR);
    expect(contentOf(store)).toMatchObject({ letters: [{ id: 'letter-3' }, { id: 'letter-4' }] });
    expect(store.keepsSinceMs('deadLetters')).toBe(NOW + 2 * MINUTE);
  });

  test('by size: the oldest goes until there is room', () => {
    using store = openStore({ ...BOUNDS, mostBytes: 300_000 });
    store.apply(Array.from({ length: 3_000 }, (_, index) => recordIn(index * 6, 3)).flatMap(rowsOf));
    const nowMs = NOW + 3_000 * 6 * MINUTE;
    store.prune(nowMs);
    const left = Number(store.db.prepare('SELECT count(*) AS left FROM removals').get()?.left);
    expect(left).toBeGreaterThan(5);
    expect(left).toBeLessThan(2_500);
    expect(store.keepsSinceMs('results')).toBeGreaterThan(nowMs - BOUNDS.historyMs);
  });
});

describe('of one inventory', () => {
  test('no more names are kept than there can be, and the others are counted', () => {
    const repoTags = Array.from({ length: 41_000 }, (_, index) => `r.example/web:${index}`);
    const { names, leftOut } = namesIn(inventory({ images: [image('i', { repoTags })] }));
    expect([names.length, leftOut]).toEqual([40_000, 1_000]);
  });

  test('a name that is too long to be one is counted alone', () => {
    const repoTags = ['r.example/web:1', 'x'.repeat(1_001)];
    expect(namesIn(inventory({ images: [image('i', { repoTags })] }))).toEqual({
      names: [{ kind: 'image', id: 'i', name: 'r.example/web:1' }],
      leftOut: 1,
    });
  });
});

test('of what somebody says at length a line has the beginning', () => {
  const message = 'x'.repeat(100_000);
  const event = refusedCommand({ result: { outcome: 'refused', reason: 'expired', message } });
  const [row] = PROJECT.results(event, { timestampMs: NOW, offset: 1n });
  expect(row).toMatchObject({ table: 'activity', text: `expired: ${message}`.slice(0, 1_000) });
});

const SEEN = Math.floor(NOW / HOUR);

const nameRow = (node: string, index: number, seen = SEEN): Row => ({
  table: 'names',
  kind: 'image',
  id: `${node} ${index}`,
  name: `r.example/${index}`,
  seen,
  node,
});

const namesByNode = ({ db }: Store): unknown =>
  db
    .prepare('SELECT node, count(*) AS names FROM names GROUP BY node ORDER BY node')
    .all()
    .map(({ node, names }) => [node, names]);

describe('a flood of names', () => {
  const numbered = (node: string, count: number): readonly Row[] =>
    Array.from({ length: count }, (_, index) => nameRow(node, index));

  test('takes nothing from those who have few, and of all no more goes than is too much', () => {
    using store = openStore({ ...BOUNDS, mostNames: 100 });
    store.apply([...numbered('prod/a', 10), ...numbered('prod/b', 20), ...numbered('prod/flood', 5_000)]);
    store.prune(NOW);
    expect(namesByNode(store)).toEqual([
      ['prod/a', 10],
      ['prod/b', 20],
      ['prod/flood', 70],
    ]);
  });

  test('of several leaves as much to each, and the newest of it', () => {
    using store = openStore({ ...BOUNDS, mostNames: 10 });
    store.apply([
      ...numbered('prod/a', 2),
      ...numbered('prod/x', 50),
      ...numbered('prod/y', 50),
      nameRow('prod/y', 99, SEEN + 1),
    ]);
    store.prune(NOW);
    expect(namesByNode(store)).toEqual([
      ['prod/a', 2],
      ['prod/x', 4],
      ['prod/y', 4],
    ]);
    expect(store.db.prepare('SELECT id FROM names WHERE seen > ?').all(SEEN)).toEqual([{ id: 'prod/y 99' }]);
  });

  test('whatever each has, the share is the largest that fits', () => {
    const counts = fc.array(fc.nat(50), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(counts, fc.nat(200), (names, most) => {
        const ofNodes = names.map((each, index) => ({ node: `prod/${index}`, names: each }));
        const kept = (share: number): number => names.reduce((sum, each) => sum + Math.min(each, share), 0);
        const share = shareOf(ofNodes, most);
        expect(kept(share)).toBeLessThanOrEqual(most);
        if (kept(Number.POSITIVE_INFINITY) > most) expect(kept(share + 1)).toBeGreaterThan(most);
      }),
      runs(200),
    );
  });
});

test('of an object with names without end some are looked at, and no more', () => {
  using store = openStore();
  const named = (index: number, seen: number): Row => ({
    table: 'names',
    kind: 'image',
    id: 'i',
    name: `r.example/${String(index).padStart(5, '0')}`,
    seen,
    node: 'prod/a',
  });
  store.apply(Array.from({ length: 1_002 }, (_, index) => named(index, index === 999 ? SEEN + 1 : SEEN)));
  expect(namesOfObject(store.db, 'image', 'i', 2)).toEqual(['r.example/00999', 'r.example/00000']);
  store.apply([named(1_001, SEEN + 2)]);
  expect(namesOfObject(store.db, 'image', 'i', 1)).toEqual(['r.example/00999']);
});

describe('what came at one moment', () => {
  const refused = (index: number): LogRecord =>
    recordOf(nodeOutput('results', refusedCommand({ id: `refused-${index}`, node: 'web-0' })), {
      offset: BigInt(index),
      timestampMs: NOW,
    });

  test('goes only as far as it is too much', () => {
    using store = openStore({ ...BOUNDS, mostActivity: 3 });
    store.apply(Array.from({ length: 5 }, (_, index) => refused(index)).flatMap(rowsOf));
    store.prune(NOW);
    expect(store.db.prepare('SELECT count(*) AS left FROM activity').get()).toEqual({ left: 3 });
  });

  test('in the last hour too goes where there is no room: the newest of what takes the most', () => {
    const mostBytes = 400_000;
    using store = openStore({ ...BOUNDS, mostBytes });
    const flood = Array.from({ length: 4_000 }, (_, index) => nameRow('prod/flood', index));
    store.apply([...[recordIn(1, 3), recordIn(2, 3), recordIn(1, 0)].flatMap(rowsOf), ...flood]);
    store.prune(NOW + 2 * MINUTE);
    const [pages = 0, free = 0, size = 0] = ['page_count', 'freelist_count', 'page_size'].map((name) =>
      Number(Object.values(store.db.prepare(`PRAGMA ${name}`).get() ?? {})[0]),
    );
    expect((pages - free) * size).toBeLessThanOrEqual(mostBytes);
    expect(contentOf(store)).toMatchObject({
      removals: [{ id: 'result-1' }, { id: 'result-2' }],
      nodes: [{ node: 'prod/web-0' }],
    });
  });

  test('and does not fit is not read again', () => {
    using store = openStore({ ...BOUNDS, mostBytes: 300_000 });
    store.apply(Array.from({ length: 3_000 }, (_, index) => refused(index)).flatMap(rowsOf), [
      { topic: 'results', span: { fromMs: NOW - HOUR, toMs: NOW + HOUR } },
    ]);
    store.prune(NOW + MINUTE);
    expect(store.keepsSinceMs('results')).toBe(NOW);
    expect(store.covered('results')).toEqual([{ fromMs: NOW, toMs: NOW + HOUR }]);
    store.prune(NOW + 2 * MINUTE);
    expect(store.keepsSinceMs('results')).toBe(NOW);
  });
});

test('a node of which no curve is left has no number any more', () => {
  using store = openStore({ ...BOUNDS, historyMs: HOUR });
  store.apply(rowsOf(recordIn(0, 0)));
  expect(store.db.prepare('SELECT node FROM node_numbers').all()).toEqual([{ node: 'prod/web-0' }]);
  store.prune(NOW + 2 * HOUR);
  expect(store.db.prepare('SELECT node FROM node_numbers').all()).toEqual([]);
  store.apply(rowsOf(recordIn(120, 0)));
  expect(contentOf(store)).toMatchObject({ disks: [{ node: 'prod/web-0' }] });
});

describe('more nodes than have a place', () => {
  const heardOf = (node: string, minute: number): LogRecord =>
    recordOf(nodeOutput('diskStats', diskStats({}, { id: `stats-${node}`, node, takenAt: at(minute) })), {
      timestampMs: NOW + minute * MINUTE,
    });

  function projecting(store: Store, places: FleetPlaces) {
    const fleet = new Fleet(store.db, setsOfEntries([]).node);
    const held = new Held();
    const projector = new Projector({
      store,
      fleet,
      held,
      places,
      trust: EVERYBODY,
      onActivity: () => undefined,
    });
    const nodes = (): readonly string[] => fleet.told(NOW).nodes.map(({ node }) => node);
    return { projector, fleet, held, nodes };
  }

  test('are counted by their names, and push nobody out who was there', () => {
    using store = openStore();
    const places = new FleetPlaces({ nodes: 2, clusters: 2 });
    const { projector, fleet, nodes } = projecting(store, places);
    for (const [minute, node] of ['a', 'b', 'made-up-1', 'made-up-2', 'a'].entries())
      projector.take('diskStats', heardOf(node, minute), true);
    projector.takeSighting(heardOf('made-up-3', 5));
    projector.flush();
    expect(nodes()).toEqual(['a', 'b']);
    expect(places.node.others).toBe(3);
    expect(contentOf(store)).toMatchObject({ nodes: [{ node: 'prod/a' }, { node: 'prod/b' }] });
    for (const known of [fleet, places]) known.forgetBefore(NOW + 3 * MINUTE);
    projector.take('diskStats', heardOf('late', 6), true);
    expect(nodes()).toEqual(['a', 'late']);
  });

  test('find none where the fleet was known before', () => {
    using store = openStore();
    store.apply([heardOf('a', 0), heardOf('b', 0)].flatMap(rowsOf));
    const places = new FleetPlaces({ nodes: 2, clusters: 2 });
    places.recall(store.db);
    const { projector, nodes } = projecting(store, places);
    for (const node of ['made-up', 'b', 'a']) projector.take('diskStats', heardOf(node, 1), true);
    expect(nodes()).toEqual(['a', 'b']);
  });

  test('have done what they did: results count, whoever tells them', () => {
    using store = openStore();
    const { projector } = projecting(store, new FleetPlaces({ nodes: 0, clusters: 0 }));
    projector.take('results', recordIn(1, 3), true);
    projector.flush();
    expect(contentOf(store)).toMatchObject({ removals: [{ id: 'result-1' }] });
  });

  test('so has none whose labels no node can have', () => {
    using store = openStore();
    const places = new FleetPlaces();
    const { projector, nodes } = projecting(store, places);
    const nodeLabels = { example: 'x'.repeat(20_000) };
    const stats = diskStats({}, { node: 'a', nodeLabels, takenAt: at(0) });
    projector.take('diskStats', recordOf(nodeOutput('diskStats', stats), { timestampMs: NOW }), true);
    expect([nodes(), places.node.others]).toEqual([[], 1]);
  });

  test('clusters too', () => {
    const places = new FleetPlaces({ nodes: 1, clusters: 1 });
    expect(['c1', 'c2', 'c1'].map((cluster) => places.cluster.admits(cluster, NOW))).toEqual([
      true,
      false,
      true,
    ]);
    expect(places.cluster.others).toBe(1);
  });
});

test.each(['results', 'decisions'] as const)(
  'a reclaim that ended above its target is a warning of its node at once: %s',
  (topic) => {
    using store = openStore();
    const policies = setsOfEntries([{ kind: 'policy', record: appliedPolicy({ mode: 'enforce' }) }]).node;
    const fleet = new Fleet(store.db, policies);
    const places = new FleetPlaces({ nodes: 2, clusters: 2 });
    const projector = new Projector({
      store,
      fleet,
      held: new Held(),
      places,
      trust: EVERYBODY,
      onActivity: () => undefined,
    });
    fleet.heard(diskStats({ availableBytes: '10' }), NOW);
    fleet.takeChanged();
    expect(fleet.told(NOW).nodes[0]?.warnings).toEqual([]);
    const record = recordOf(nodeOutput(topic, pressureUnrelieved()), { timestampMs: NOW + MINUTE });
    projector.take(topic, record, true);
    expect(fleet.told(NOW + MINUTE).nodes[0]?.warnings).toMatchObject([{ kind: 'above-threshold' }]);
    expect([...fleet.takeChanged()]).toEqual(['prod/web-1']);
  },
);

test('a node that was only sighted is let go in time', () => {
  using store = openStore();
  const fleet = new Fleet(store.db, setsOfEntries([]).node);
  const head = diskStats({}, { node: 'a', takenAt: at(0) });
  fleet.sighted(head, NOW);
  fleet.forgetBefore(NOW + 1);
  // Were it known still, older news would say nothing.
  expect(fleet.sighted(head, NOW - 1)).not.toBeNull();
});

test('a node of which nothing was found is let go a day after it was heard, or looked for', () => {
  using store = openStore();
  const fleet = new Fleet(store.db, setsOfEntries([]).node);
  const lost = { kind: 'position-refused', why: 'x' } as const;
  fleet.notFound(
    [
      { ...lost, key: 'prod/a', heardMs: null },
      { ...lost, key: 'prod/b', heardMs: NOW - HOUR },
    ],
    NOW,
  );
  const named = () => (fleet.told(NOW).unlocated ?? []).map(({ node }) => node);
  expect(named()).toEqual(['a', 'b']);
  fleet.forgetBefore(NOW);
  expect(named()).toEqual(['a']);
  fleet.forgetBefore(NOW + 1);
  expect(named()).toEqual([]);
});

describe('the file of a projection', () => {
  const path = () => join(temporaryDirectory(), 'projection.db');

  test.each([
    { what: 'another log', change: (file: string) => openTables(file, 'another').db.close() },
    {
      what: 'another version',
      change: (file: string) => {
        const db = new DatabaseSync(file);
        db.exec('PRAGMA user_version = 9999');
        db.close();
      },
    },
  ])('of $what is made anew', ({ change }) => {
    const file = path();
    openTables(file, 'test').db.close();
    expect(openTables(file, 'test')).toMatchObject({ isNew: false });
    change(file);
    expect(openTables(file, 'test')).toMatchObject({ isNew: true });
  });

  test('that is something else is left alone', () => {
    const file = path();
    const db = new DatabaseSync(file);
    db.exec('CREATE TABLE mine (value TEXT)');
    db.close();
    expect(() => openTables(file, 'test')).toThrow(expect.objectContaining({ code: 'STATE_UNREADABLE' }));
    expect(new DatabaseSync(file).prepare('SELECT name FROM sqlite_schema').all()).toEqual([
      { name: 'mine' },
    ]);
  });
});

describe('what was read of a log', () => {
  const spans = (...pairs: readonly (readonly [number, number])[]): readonly Span[] =>
    pairs.map(([fromMs, toMs]) => ({ fromMs, toMs }));

  test.each([
    { covered: spans(), added: [10, 20], merged: spans([10, 20]) },
    { covered: spans([10, 20]), added: [20, 30], merged: spans([10, 30]) },
    { covered: spans([10, 20], [40, 50]), added: [15, 45], merged: spans([10, 50]) },
    { covered: spans([40, 50]), added: [10, 20], merged: spans([10, 20], [40, 50]) },
    { covered: spans([10, 50]), added: [20, 30], merged: spans([10, 50]) },
  ] as const)('$covered and $added', ({ covered, added: [fromMs, toMs], merged }) => {
    expect(withSpan(covered, { fromMs, toMs })).toEqual(merged);
  });

  test.each([
    { covered: spans(), gap: { fromMs: 70, toMs: 100 } },
    { covered: spans([60, 120]), gap: { fromMs: 30, toMs: 60 } },
    { covered: spans([20, 50], [60, 120]), gap: { fromMs: 50, toMs: 60 } },
    { covered: spans([10, 120]), gap: { fromMs: 0, toMs: 10 } },
    { covered: spans([0, 120]), gap: null },
    { covered: spans([20, 40]), gap: { fromMs: 70, toMs: 100 } },
  ])('the newest that is missing beside $covered', ({ covered, gap }) => {
    expect(nextGap(covered, { sinceMs: 0, beforeMs: 100, mostMs: 30 })).toEqual(gap);
  });

  test('all of it is read, a gap at a time', () => {
    const span = fc
      .tuple(fc.nat(500), fc.integer({ min: 1, max: 80 }))
      .map(([fromMs, length]) => ({ fromMs, toMs: fromMs + length }));
    fc.assert(
      fc.property(fc.array(span, { maxLength: 8 }), (read) => {
        let covered = read.reduce<readonly Span[]>(withSpan, []);
        const range = { sinceMs: 100, beforeMs: 400, mostMs: 50 };
        for (let gap = nextGap(covered, range); gap !== null; gap = nextGap(covered, range)) {
          expect(gap.fromMs).toBeLessThan(gap.toMs);
          covered = withSpan(covered, gap);
        }
        expect(covered.some(({ fromMs, toMs }) => fromMs <= 100 && toMs >= 400)).toBe(true);
      }),
      runs(200),
    );
  });
});

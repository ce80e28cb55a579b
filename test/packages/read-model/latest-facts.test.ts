import fc from 'fast-check';
import { expect, test } from 'vitest';
import { valueSha256 } from '../../../packages/canonical/ids.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import type { LogReader, LogRecord } from '../../../packages/log/port.ts';
import { believedPositions, readLatestFacts } from '../../../packages/read-model/latest-facts.ts';
import { readReportingNodes } from '../../../packages/read-model/reporting-nodes.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import type { LatestFact } from '../../../schemas/events/latest-fact.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { latestNodeFact } from '../../fixtures/latest-fact.ts';
import { DAY, HOUR, MINUTE, NOW, SECOND } from '../../fixtures/time.ts';
import { certified, FLEET, newKey, rootsOf } from '../../fixtures/trust.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { positionRecord } from '../../support/logs/positions.ts';
import { runs } from '../../support/property-runs.ts';
import { logOf } from '../audit/support/archives.ts';

const SIGNAL = new AbortController().signal;
const STATS = 'gc.node.disk-stats';
const KEY = 'prod/web-1';
const PARTITION = partitionOf(STATS, KEY);
const LAST = NOW - 3 * HOUR;

/** Facts of a node that fell silent three hours ago, one a minute; the last two came after its last position. */
const FACTS: readonly LogRecord[] = Array.from({ length: 8 }, (_, index) => ({
  ...outgoing(nodeOutput('diskStats', diskStats({}, { id: `stats-${index}` }))),
  partition: PARTITION,
  offset: BigInt(20 + index),
  timestampMs: LAST - (7 - index) * MINUTE,
}));

function positionOf(index: number, over: Partial<ReturnType<typeof latestNodeFact>> = {}): LatestFact {
  const fact = FACTS[index];
  if (!fact?.value) throw new Error(`there is no fact ${index}`);
  return latestNodeFact({
    partition: PARTITION,
    offset: String(fact.offset),
    loggedAtMs: fact.timestampMs,
    sha256: valueSha256(fact.value),
    ...over,
  });
}

let offset = 0n;
const placed = (latest: LatestFact, over: Partial<LogRecord> = {}): LogRecord => {
  offset += 1n;
  const record = positionRecord(latest);
  return {
    ...record,
    partition: partitionOf(record.topic, record.key),
    offset,
    timestampMs: latest.loggedAtMs + SECOND,
    ...over,
  };
};

/** What is found of a silent node where these positions, and these facts, lie on the log. */
async function found(positions: readonly LogRecord[], facts = FACTS, more: readonly LogRecord[] = []) {
  const log = logOf([...facts, ...positions, ...more]);
  const { nodes, unlocated } = await readReportingNodes({ log, nowMs: NOW, onProgress: () => {} }, SIGNAL);
  return {
    heardMs: nodes.get(KEY)?.track.last.loggedAtMs ?? null,
    id: nodes.get(KEY)?.stats.id ?? null,
    unlocated: unlocated.map(({ key, kind, heardMs }) => ({ key, kind, heardMs })),
  };
}

const REFUSED = [{ key: KEY, kind: 'position-refused', heardMs: null }];
const foundLast = { heardMs: LAST, id: 'stats-7', unlocated: [] };
const foundNothing = { heardMs: null, id: null, unlocated: REFUSED };

test('the last report of a silent node is found from its last position, which is older', async () => {
  expect(await found([placed(positionOf(0)), placed(positionOf(5))])).toEqual(foundLast);
});

test('of a node without a position nothing is known, and nothing is said', async () => {
  expect(await found([])).toEqual({ heardMs: null, id: null, unlocated: [] });
});

test.each<{ name: string; position: LogRecord }>([
  { name: 'another record’s place', position: placed(positionOf(5, { offset: '21' })) },
  { name: 'another hash', position: placed(positionOf(5, { sha256: 'b'.repeat(64) })) },
  { name: 'another time', position: placed(positionOf(5, { loggedAtMs: LAST - 2 * MINUTE + 1 })) },
  { name: 'the fact of another node', position: placed(positionOf(5, { node: 'web-2' })) },
  { name: 'another partition', position: placed(positionOf(5, { partition: (PARTITION + 1) % 32 })) },
  {
    name: 'a record on another partition',
    position: placed(positionOf(5), { partition: (PARTITION + 1) % 32 }),
  },
  { name: 'an old position, put back', position: placed(positionOf(5), { timestampMs: NOW - MINUTE }) },
  { name: 'garbage', position: placed(positionOf(5), { value: Buffer.from('x') }) },
  { name: 'a tombstone', position: placed(positionOf(5), { value: null }) },
])('$name gives no state, and is told', async ({ position }) => {
  const { heardMs, unlocated } = await found([position]);
  expect(heardMs).toBeNull();
  expect(unlocated).toMatchObject([{ kind: 'position-refused' }]);
});

test.each(['999999999999999999', '0'])(
  'a place where nothing lies, and whose time the log still has, says nothing of when the node was heard: %s',
  async (at) => {
    const said = placed(positionOf(7, { offset: at, loggedAtMs: NOW - MINUTE }), { timestampMs: NOW });
    expect(await found([said])).toEqual(foundNothing);
  },
);

test('places that are not true are read no further than to see that, and join no others', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `web-${index}`);
  const mine = names.filter((name) => partitionOf(STATS, `prod/${name}`) === PARTITION);
  const false1 = mine.map((name) =>
    placed(positionOf(0, { node: name, loggedAtMs: NOW - MINUTE, offset: '20' }), { timestampMs: NOW }),
  );
  const far = placed(positionOf(7, { node: 'web-1', offset: '999999999999999999' }));
  const many = Array.from(
    { length: 2_000 },
    (_, index): LogRecord => ({
      ...(FACTS[0] as LogRecord),
      key: 'prod/web-9',
      offset: BigInt(100 + index),
      timestampMs: NOW - MINUTE,
    }),
  );
  let reads = 0;
  const log = logOf([...FACTS, ...many, ...false1, far]);
  const counting: LogReader = {
    read: async function* (request, signal) {
      for await (const event of log.read(request, signal)) {
        if (request.topic === STATS && event.kind === 'record') reads += 1;
        yield event;
      }
    },
  };
  const asked = {
    log: counting,
    fact: 'diskStats',
    fromMs: NOW - DAY,
    isKnown: () => false,
    isBelieved: () => true,
  } as const;
  const unlocated = await readLatestFacts(asked, () => expect.fail('nothing is true'), SIGNAL);
  expect(new Set(unlocated.map(({ kind }) => kind))).toEqual(new Set(['position-refused']));
  expect(reads).toBeLessThan(5);
});

test('the last reports of a thousand are looked up, and of the others it is said that they were not', async () => {
  const positions = Array.from({ length: 1_200 }, (_, index) =>
    placed(positionOf(7, { node: `gone-${index}`, partition: partitionOf(STATS, `prod/gone-${index}`) })),
  );
  const { unlocated } = await found(positions);
  const kinds = Map.groupBy(unlocated, ({ kind }) => kind);
  expect(unlocated).toHaveLength(1_200);
  expect(kinds.get('not-looked-up')).toHaveLength(200);
});

test('what is written after a true position does not hide it', async () => {
  const garbage = placed(positionOf(5), { value: Buffer.from('x'), timestampMs: NOW });
  const again = placed(positionOf(0), { timestampMs: LAST });
  expect(await found([placed(positionOf(5)), again, garbage])).toEqual(foundLast);
  const false1 = placed(positionOf(6, { sha256: 'b'.repeat(64) }));
  const false2 = placed(positionOf(7, { offset: '999999999999999999' }));
  const false3 = placed(positionOf(7, { loggedAtMs: NOW - MINUTE, offset: '0' }), { timestampMs: NOW });
  expect(await found([placed(positionOf(5)), again, false1, false2, false3])).toEqual(foundLast);
});

test('a position of an older true fact, put back in time, hides nothing that came after it', async () => {
  expect(await found([placed(positionOf(0), { timestampMs: LAST + MINUTE })])).toEqual(foundLast);
});

test('where the fact is not kept any more, its time is known and no state', async () => {
  const younger = { ...FACTS[7], offset: 40n, key: 'prod/web-9' } as LogRecord;
  const gone = { key: KEY, kind: 'fact-not-kept' };
  expect(await found([placed(positionOf(5))], [younger])).toMatchObject({
    heardMs: null,
    unlocated: [{ ...gone, heardMs: LAST - 2 * MINUTE }],
  });
  // Nothing says that there was anything at that time.
  expect(await found([placed(positionOf(5))], [])).toMatchObject({
    heardMs: null,
    unlocated: [{ ...gone, heardMs: null }],
  });
});

test('who is heard now needs no position, whatever somebody says of it', async () => {
  const now = { ...FACTS[7], offset: 90n, timestampMs: NOW - MINUTE } as LogRecord;
  expect(await found([placed(positionOf(5), { value: null })], [...FACTS, now])).toEqual({
    heardMs: NOW - MINUTE,
    id: 'stats-7',
    unlocated: [],
  });
});

const [root, node, thief] = [newKey(), newKey(), newKey()];
const TIMES = { issuedAtMs: NOW - 30 * DAY, notAfterMs: NOW + DAY };
const KEYS = [
  certified(root, node, { role: 'node', clusters: ['prod'], nodes: ['web-1'], ...TIMES }),
  certified(root, thief, { role: 'node', clusters: ['prod'], nodes: ['web-9'], ...TIMES }),
];

test('where a key of the node was certified, what no key signed points nowhere, also where it alone is left', async () => {
  const signed = {
    ...placed(positionOf(5)),
    ...signRecord(positionRecord(positionOf(5)), { fleet: FLEET, key: node, generation: null }),
  };
  const forged = placed(positionOf(7, { loggedAtMs: NOW - MINUTE, offset: '0' }), { timestampMs: NOW });
  const ofAnother = placed(positionOf(5, { node: 'web-2' }));
  for (const { positions, expected } of [
    { positions: [signed, forged, placed(positionOf(7))], expected: { ...foundLast, asked: 1 } },
    { positions: [forged], expected: { ...foundNothing, asked: 0 } },
  ]) {
    const log = logOf([...KEYS, ...FACTS, ...positions, ofAnother]);
    const isBelieved = await believedPositions(rootsOf(root), log, SIGNAL);
    const needs = { log, nowMs: NOW, onProgress: () => {}, isBelieved };
    const { nodes, unlocated } = await readReportingNodes(needs, SIGNAL);
    const mine = unlocated.filter(({ key }) => key === KEY);
    expect({
      heardMs: nodes.get(KEY)?.track.last.loggedAtMs ?? null,
      id: nodes.get(KEY)?.stats.id ?? null,
      unlocated: mine.map(({ key, kind, heardMs }) => ({ key, kind, heardMs })),
      asked: nodes.size,
    }).toEqual(expected);
    // One of which no key was certified is believed to have been there.
    expect(isBelieved('latestFacts', ofAnother)).toBe(true);
  }
});

test.each([
  { name: 'of the node itself', key: node, expected: foundLast },
  { name: 'of another node', key: thief, expected: foundNothing },
  { name: 'that nobody certified', key: newKey(), expected: foundNothing },
])('with roots the key counts that signed a position: $name', async ({ key, expected }) => {
  const position = placed(positionOf(5));
  const signed = {
    ...position,
    ...signRecord(positionRecord(positionOf(5)), { fleet: FLEET, key, generation: null }),
  };
  const log = logOf([...KEYS, ...FACTS, signed]);
  const isBelieved = await believedPositions(rootsOf(root), log, SIGNAL);
  const needs = { log, nowMs: NOW, onProgress: () => {}, isBelieved };
  const { nodes, unlocated } = await readReportingNodes(needs, SIGNAL);
  expect({
    heardMs: nodes.get(KEY)?.track.last.loggedAtMs ?? null,
    id: nodes.get(KEY)?.stats.id ?? null,
    unlocated: unlocated.map(({ key: of, kind, heardMs }) => ({ key: of, kind, heardMs })),
  }).toEqual(expected);
});

test('whatever somebody writes to the topic, what is given are facts of the log, of the node that they are about', async () => {
  const bytes = new Set(FACTS.map(({ value }) => String(value)));
  const anyPosition = fc.record({
    index: fc.integer({ min: 0, max: 7 }),
    over: fc.record(
      {
        node: fc.constantFrom('web-1', 'web-2', 'web-3'),
        offset: fc.integer({ min: 0, max: 40 }).map(String),
        partition: fc.integer({ min: 0, max: 31 }),
        loggedAtMs: fc.integer({ min: LAST - HOUR, max: NOW }),
        sha256: fc.constantFrom('a'.repeat(64), 'b'.repeat(64)),
      },
      { requiredKeys: [] },
    ),
    value: fc.option(
      fc.oneof(
        fc.constant(null),
        fc.uint8Array({ maxLength: 40 }),
        fc.json().map((text) => Buffer.from(text)),
      ),
      { nil: undefined },
    ),
    afterMs: fc.integer({ min: -HOUR, max: 4 * HOUR }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(anyPosition, { maxLength: 6 }), async (all) => {
      const positions = all.map(({ index, over, value, afterMs }) =>
        placed(positionOf(index, over), {
          timestampMs: LAST + afterMs,
          ...(value === undefined ? {} : { value: value === null ? null : Buffer.from(value) }),
        }),
      );
      const taken: LogRecord[] = [];
      const log = logOf([...FACTS, ...positions]);
      const asked = {
        log,
        fact: 'diskStats',
        fromMs: NOW - DAY,
        isKnown: () => false,
        isBelieved: () => true,
      } as const;
      const unlocated = await readLatestFacts(asked, (record) => taken.push(record), SIGNAL);
      for (const { key, value } of taken) expect([key, bytes.has(String(value))]).toEqual([KEY, true]);
      expect(taken.map((record) => record.offset)).toEqual(taken.map((record) => record.offset).toSorted());
      if (taken.length > 0) expect(unlocated.map(({ key }) => key)).not.toContain(KEY);
    }),
    runs(500),
  );
});

const NODES = 10_000;
const MINUTES = 1_440;
const TOPIC = STATS;

/** A day of a fleet in which every node reports each minute, made while it is read; every hundredth node fell silent some time ago. */
function fleetOfADay() {
  const names = Array.from({ length: NODES }, (_, index) => `node-${index}`);
  const byPartition = Map.groupBy(names, (name) => partitionOf(TOPIC, `prod/${name}`));
  const silentMinute = new Map(
    names.filter((_, index) => index % 100 === 0).map((name, index) => [name, index * 13 + 5]),
  );
  const filler = 'filler';
  const record = (partition: number, at: number): LogRecord => {
    const those = byPartition.get(partition) ?? [];
    const minute = Math.floor(at / those.length);
    const name = those[at % those.length] ?? filler;
    const isSilent = minute > (silentMinute.get(name) ?? MINUTES);
    const event = diskStats({}, { id: `s-${at}`, node: isSilent ? filler : name });
    const timestampMs =
      NOW - DAY + minute * MINUTE + Math.floor(((at % those.length) / those.length) * MINUTE);
    return {
      ...outgoing(nodeOutput('diskStats', event)),
      key: `prod/${isSilent ? filler : name}`,
      partition,
      offset: BigInt(at),
      timestampMs,
    };
  };
  const positions = [...byPartition].flatMap(([partition, those]) =>
    those.flatMap((name, index) => {
      const last = Math.min(silentMinute.get(name) ?? MINUTES, MINUTES - 1);
      return [last - 9, last - 4]
        .filter((minute) => minute >= 0)
        .map((minute) => {
          const fact = record(partition, minute * those.length + index);
          return placed(
            latestNodeFact({
              node: name,
              partition,
              offset: String(fact.offset),
              loggedAtMs: fact.timestampMs,
              sha256: valueSha256(fact.value ?? Buffer.alloc(0)),
            }),
          );
        });
    }),
  );
  const positionsOf = Map.groupBy(positions, ({ partition }) => partition);
  const reads = { facts: 0, positions: 0, requests: 0 };
  const log: LogReader = {
    read: async function* ({ topic, partition = 0, from, to }) {
      reads.requests += 1;
      if (topic !== TOPIC) {
        for (const each of topic === 'gc.latest-facts' ? (positionsOf.get(partition) ?? []) : []) {
          reads.positions += 1;
          yield { kind: 'record', record: each };
        }
        return yield { kind: 'caught-up' };
      }
      const each = (byPartition.get(partition) ?? []).length;
      const end = each * MINUTES;
      let at = 0;
      if (from !== 'earliest')
        at =
          'offset' in from
            ? Number(from.offset)
            : Math.ceil(((from.timestampMs - NOW + DAY) / MINUTE) * each);
      const before = typeof to === 'object' ? Number(to.before) : end;
      for (; at < before; at += 1) {
        reads.facts += 1;
        yield { kind: 'record', record: record(partition, at) };
      }
      yield { kind: 'caught-up' };
    },
  };
  return { log, reads, silent: silentMinute.size };
}

test('of ten thousand nodes no more is read than the last minutes, the positions, and the minutes after some of them', async () => {
  const { log, reads, silent } = fleetOfADay();
  const { nodes, unlocated } = await readReportingNodes({ log, nowMs: NOW, onProgress: () => {} }, SIGNAL);
  expect(unlocated).toEqual([]);
  expect(nodes.size).toBe(NODES + 1);
  const perMinute = NODES / 32;
  expect(reads.positions).toBeLessThanOrEqual(2 * NODES);
  // 3.5 minutes of all, eleven minutes of a partition for each of thirty that are dated, and what lies between near positions.
  expect(reads.facts).toBeLessThan(3.6 * NODES + 30 * 12.5 * perMinute + silent * 200);
  expect(reads.requests).toBeLessThanOrEqual(2 * 32 + silent + 30);
}, 120_000);

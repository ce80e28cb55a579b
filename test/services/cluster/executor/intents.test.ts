import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { canonicalJson } from '../../../../packages/canonical/ids.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import { foundLater } from '../../../../schemas/events/cluster-result.ts';
import type { OwnRule } from '../../../../schemas/policy/own-rule.ts';
import type { ClusterExecutorDeps } from '../../../../services/cluster/executor/executor.ts';
import { UNDER_WAY_MS } from '../../../../services/cluster/executor/intents.ts';
import type { ResultEvent } from '../../../../services/cluster/executor/ports.ts';
import { recentResults } from '../../../../services/cluster/executor/recent-results.ts';
import { clusterPolicy } from '../../../fixtures/cluster.ts';
import { type Harness, harness, itemFor } from './support/executor.ts';
import { type FakeApi, kindNamed, type StoredObject } from './support/fake-api.ts';

const SECRET = kindNamed('Secret');
const referenceTo = (uid: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: uid, uid });
/** Secrets whose owner is gone. */
const orphans = (api: FakeApi, count: number): readonly StoredObject[] =>
  Array.from({ length: count }, (_, number) =>
    api.put({ kind: SECRET, name: `s${number}`, ownerReferences: [referenceTo('gone')] }),
  );
const tooLarge = () => new FleetGcError('LOG_RECORD_TOO_LARGE', 'the broker takes no message of that size');
const isIntent = ({ event }: { readonly event: ResultEvent }): boolean =>
  event.type === 'fleetgc.cluster.command-intent';

/** Aborts with the test. */
function ended(): AbortSignal {
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  return ending.signal;
}

/** A log that two executors share, by which the second one begins. */
function sharedLog() {
  const events: ResultEvent[] = [];
  const publish: ClusterExecutorDeps['publish'] = async (outgoing) =>
    void events.push(...outgoing.map(({ event }) => event));
  return { events, publish };
}

/** What results on a log tell, as `uid outcome`. */
const toldIn = (events: readonly ResultEvent[]): readonly string[] =>
  events.flatMap((event) =>
    event.type === 'fleetgc.cluster.object-results'
      ? event.objects.map(({ object, result }) => `${object.uid} ${foundLater(result) ?? result.outcome}`)
      : [],
  );

describe('before anything is changed for a command', () => {
  test('its intent is on the event log, once for all its objects', async () => {
    const order: string[] = [];
    const h: Harness = harness({
      publish: async (events) => void order.push(...events.map(({ event }) => event.type)),
    });
    h.api.onWrite = () => void order.push('write');
    h.give(h.order(orphans(h.api, 30).map((object) => itemFor(object))));
    await h.pass(5);
    expect(order[0]).toBe('fleetgc.cluster.command-intent');
    expect(order.filter((each) => each === 'fleetgc.cluster.command-intent')).toHaveLength(1);
    expect(order.filter((each) => each === 'write')).toHaveLength(30);
  });

  test('nothing is written while the log does not take the intent, and it is tried again', async () => {
    let isAway = true;
    const h = harness({
      publish: async (events) => {
        if (isAway && events.some(isIntent)) throw new FleetGcError('LOG_UNREACHABLE', 'no log');
      },
    });
    h.give(h.order(orphans(h.api, 3).map((object) => itemFor(object))));
    await h.pass(60);
    expect(h.api.writes).toEqual([]);
    isAway = false;
    await h.pass(10);
    expect(h.api.writes).toHaveLength(3);
  });

  test('an intent that takes long has the owners looked at again', async () => {
    const h: Harness = harness({
      publish: async (events) => {
        if (events.some(isIntent)) await h.time.sleep(5_000);
      },
    });
    const [object] = orphans(h.api, 1);
    if (object === undefined) throw new Error('one was made');
    h.give(h.order([itemFor(object)]));
    await h.pass(2);
    h.api.put({ kind: kindNamed('ConfigMap'), name: 'gone' });
    await h.pass(10);
    expect(h.api.writes).toEqual([]);
  });

  test('what is rehearsed changes nothing, and is not announced', async () => {
    const h = harness();
    h.policy = clusterPolicy({ mode: 'rehearse' });
    expect(await h.carryOut(orphans(h.api, 2).map((object) => itemFor(object)))).toEqual([
      'rehearsed',
      'rehearsed',
    ]);
    expect(h.intents).toEqual([]);
  });

  test('an intent that is larger than the broker takes is announced in parts', async () => {
    const h: Harness = harness({
      publish: async (events) => {
        for (const { event } of events) {
          if ('objects' in event && event.objects.length > 4) throw tooLarge();
          if (event.type === 'fleetgc.cluster.command-intent') h.intents.push(event);
        }
      },
    });
    h.give(h.order(orphans(h.api, 10).map((object) => itemFor(object))));
    await h.pass(10);
    expect(h.intents.flatMap(({ objects }) => objects)).toHaveLength(10);
    expect(new Set(h.intents.map(({ id }) => id)).size).toBe(h.intents.length);
    expect(h.api.writes).toHaveLength(10);
  });
});

describe('a result that the broker never takes as it is', () => {
  test('is published in parts, and then with a short message', async () => {
    const published: ResultEvent[] = [];
    const h = harness({
      publish: async (events) => {
        if (events.some(({ event }) => canonicalJson(event).length > 1_100)) throw tooLarge();
        published.push(...events.map(({ event }) => event));
      },
    });
    h.api.fault = ({ method }) =>
      method === 'DELETE'
        ? { status: 403, body: JSON.stringify({ kind: 'Status', message: 'no '.repeat(300), details: {} }) }
        : null;
    h.give(h.order(orphans(h.api, 5).map((object) => itemFor(object))));
    await h.pass(20);
    expect(toldIn(published).toSorted()).toEqual([0, 1, 2, 3, 4].map((n) => `s${n} failed`));
    expect(published.at(-1)).toMatchObject({ result: { outcome: 'done', counts: { failed: 5 } } });
  });

  test('is never given up, and nothing more is removed until it is on the log', async () => {
    const published: ResultEvent[] = [];
    let isStrict = true;
    const h = harness({
      publish: async (events) => {
        if (isStrict && !events.every(isIntent)) throw tooLarge();
        published.push(...events.map(({ event }) => event));
      },
    });
    const [first, ...rest] = orphans(h.api, 41).map((object) => itemFor(object));
    if (first === undefined) throw new Error('some were made');
    h.give(h.order([first]));
    await h.pass(5);
    expect(h.api.writes).toHaveLength(1);
    h.give(h.order(rest));
    await h.pass(120);
    expect(h.api.writes).toHaveLength(1);
    isStrict = false;
    await h.pass(60);
    expect(toldIn(published).filter((told) => told.endsWith(' removed'))).toHaveLength(41);
  });

  test('and while the log takes no results at all, only what is in hand is finished', async () => {
    const h = harness({
      publish: async (events) => {
        if (!events.every(isIntent)) throw new FleetGcError('LOG_UNREACHABLE', 'no log');
      },
    });
    h.give(h.order(orphans(h.api, 450).map((object) => itemFor(object))));
    await h.pass(120);
    expect(h.api.writes.length).toBeLessThanOrEqual(220);
  });
});

describe('who comes after settles what was announced', () => {
  /** The first executor announces, and does no more. The second one has its own time, and the same API server. */
  async function announced(count = 2) {
    const log = sharedLog();
    const first = harness({ publish: log.publish, executor: 'first' });
    const objects = orphans(first.api, count);
    const order = first.order(objects.map((object) => itemFor(object)));
    first.api.fault = ({ method }) =>
      method === 'DELETE' ? new FleetGcError('API_UNREACHABLE', 'away') : null;
    first.give(order);
    await first.pass(1);
    expect(log.events.map(({ type }) => type)).toEqual(['fleetgc.cluster.command-intent']);
    await first.stop();
    first.api.fault = () => null;
    const second = (over: Partial<ClusterExecutorDeps> = {}): Harness => {
      const connection = first.api.connection();
      const recent = recentResults(log.events);
      const h = harness(
        { publish: log.publish, executor: 'second', connection, recent, ...over },
        undefined,
        first.time,
      );
      void h.executor.instance.watch(connection, first.time.sleep, ended()).catch(() => undefined);
      return h;
    };
    return { log, api: first.api, objects, order, second };
  }

  test('gone, changed and unchanged, and then it refuses the order', async () => {
    const { log, api, objects, order, second } = await announced(3);
    const [gone, changed] = objects;
    if (gone === undefined || changed === undefined) throw new Error('three were made');
    api.remove(gone);
    api.touch(changed.uid, { keep: true });
    const h = second({ policy: () => ({ kind: 'paused', reason: 'incident' }) });
    h.give(order);
    await h.pass(5);
    expect(toldIn(log.events).toSorted()).toEqual(['s0 gone', 's1 changed']);
    expect(log.events.at(-1)).toMatchObject({ result: { outcome: 'refused', reason: 'paused' } });
    await h.pass(600 + UNDER_WAY_MS / 1_000 + 10);
    expect(toldIn(log.events).toSorted()).toEqual(['s0 gone', 's1 changed', 's2 unchanged']);
    expect(recentResults(log.events).open).toEqual([]);
  });

  test('what is unchanged is carried out where the order still holds', async () => {
    const { log, api, objects, order, second } = await announced();
    api.remove(objects[0] ?? orphans(api, 1)[0] ?? never());
    const h = second();
    h.give(order);
    await h.pass(5);
    expect(toldIn(log.events).toSorted()).toEqual(['s0 gone', 's1 removed']);
    expect(log.events.at(-1)).toMatchObject({ result: { counts: { 'not-found': 1, removed: 1 } } });
  });

  test('nothing is done or refused for the command before its objects could be looked at', async () => {
    const { log, api, order, second } = await announced();
    api.fault = () => new FleetGcError('API_UNREACHABLE', 'away');
    const h = second();
    h.give(order);
    await h.pass(30);
    expect(log.events).toHaveLength(1);
    api.fault = () => null;
    await h.pass(40);
    expect(toldIn(log.events).toSorted()).toEqual(['s0 removed', 's1 removed']);
  });

  test('an object that the API server does not tell of keeps nothing else of its command waiting, and is told of', async () => {
    const { log, api, order, second } = await announced(3);
    const isOf = (name: string) => (path: string) => path.endsWith(`/${name}`);
    const ofOne = isOf('s1');
    api.fault = ({ path }) => (ofOne(path) ? { status: 500, body: '{}' } : null);
    const metrics = createMetrics();
    const logs: object[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void logs.push(JSON.parse(line)) });
    const h = second({ metrics, logger });
    h.give(order);
    await h.pass(30);
    expect(toldIn(log.events).toSorted()).toEqual(['s0 removed', 's2 removed']);
    expect(await metrics.text()).toContain('fleetgc_cluster_executor_announced_unseen 1');
    expect(logs).toMatchObject([
      {
        msg: 'an announced object cannot be looked at, so it is left alone and nothing is reported of it',
        uid: 's1',
        problem: expect.stringContaining('500'),
      },
    ]);
    api.fault = () => null;
    await h.pass(600 + UNDER_WAY_MS / 1_000 + 40);
    expect(toldIn(log.events).toSorted()).toEqual(['s0 removed', 's1 unchanged', 's2 removed']);
    expect(log.events.at(-1)).toMatchObject({ result: { counts: { removed: 2, refused: 1 } } });
    expect(await metrics.text()).toContain('fleetgc_cluster_executor_announced_unseen 0');
    expect(recentResults(log.events).open).toEqual([]);
  });

  test('an object that the API server never tells of ends as that, long after its command is over', async () => {
    const { log, api, order, second } = await announced(1);
    api.fault = ({ path }) => (path.endsWith('/s0') ? { status: 500, body: '{}' } : null);
    const h = second();
    h.give(order);
    await h.pass(600 + UNDER_WAY_MS / 1_000);
    expect(toldIn(log.events)).toEqual([]);
    await h.pass(900);
    expect(toldIn(log.events)).toEqual(['s0 unreadable']);
    expect(log.events.at(-1)).toMatchObject({ result: { outcome: 'done', counts: { failed: 1 } } });
  });

  test('what the first executor does after all, when the second has looked, is told when the command is over', async () => {
    const { log, api, objects, second } = await announced(1);
    const h = second();
    await h.pass(5);
    expect(toldIn(log.events)).toEqual([]);
    api.remove(objects[0] ?? never());
    await h.pass(600 + UNDER_WAY_MS / 1_000 + 10);
    expect(toldIn(log.events)).toEqual(['s0 gone']);
    expect(log.events.at(-1)).toMatchObject({ result: { outcome: 'done', counts: { 'not-found': 1 } } });
  });

  test('a third one settles what the second did not come to', async () => {
    const { log, api, objects, second } = await announced(1);
    const h = second({ executor: 'second' });
    await h.pass(3);
    await h.stop();
    api.remove(objects[0] ?? never());
    const third = second({ executor: 'third', recent: recentResults(log.events) });
    await third.pass(3);
    expect(toldIn(log.events)).toEqual(['s0 gone']);
  });

  test('an intent of longer ago than the past hour is settled beside the work', async () => {
    const { log, api, objects, second } = await announced(1);
    const h = second({ recent: recentResults([]) });
    api.remove(objects[0] ?? never());
    h.executor.settle(recentResults(log.events).open);
    await h.pass(3);
    expect(toldIn(log.events)).toEqual(['s0 gone']);
  });

  test('of another cluster behind the same address nothing is concluded', async () => {
    const { log, api, objects, second } = await announced(1);
    api.put({ kind: kindNamed('Namespace'), name: 'kube-system', uid: 'another-cluster' });
    api.remove(objects[0] ?? never());
    const h = second();
    await h.pass(30);
    expect(toldIn(log.events)).toEqual([]);
  });

  test('what may have gone counts among what may go in an hour', async () => {
    const { log, api, second } = await announced(2);
    const h = second();
    h.policy = clusterPolicy({ limits: { ...clusterPolicy().limits, removalsPerHour: 2 } });
    const extra = api.put({ kind: SECRET, name: 'extra', ownerReferences: [referenceTo('gone')] });
    h.give(h.order([itemFor(extra)]));
    await h.pass(3);
    expect(toldIn(log.events)).toEqual(['extra refused']);
    expect(JSON.stringify(log.events.at(-2))).toContain('rate-limited');
  });

  test.each(['not looked at yet', 'found gone'])(
    '[cluster S10] what may have gone by a rule, and is %s, counts among what may go by it in an hour',
    async (state) => {
      const secretOf = (api: FakeApi, name: string) =>
        api.put({ kind: SECRET, name, creationTimestamp: '2020-01-01T00:00:00Z' });
      const byRule = (object: StoredObject) => ({
        ...itemFor(object, { action: 'expire', propagation: 'Background', ownRule: 'old' }),
        rule: 'S12',
      });
      const rule: OwnRule = {
        name: 'old',
        kinds: ['Secret'],
        namespaces: ['ns'],
        afterMs: 3_600_000,
        propagation: 'Background',
        removalsPerHour: 1,
      };
      const log = sharedLog();
      const first = harness({ publish: log.publish, executor: 'first' });
      first.policy = clusterPolicy({ collectors: [], rules: [rule] });
      const gone = secretOf(first.api, 'a');
      first.api.fault = ({ method }) =>
        method === 'DELETE' ? new FleetGcError('API_UNREACHABLE', 'away') : null;
      first.give(first.order([byRule(gone)]));
      await first.pass(1);
      expect(log.events.map(({ type }) => type)).toEqual(['fleetgc.cluster.command-intent']);
      await first.stop();
      const isAway = state === 'not looked at yet';
      first.api.fault = ({ path }) =>
        isAway && path.endsWith('/a') ? new FleetGcError('API_UNREACHABLE', 'away') : null;
      first.api.remove(gone);
      const connection = first.api.connection();
      const recent = recentResults(log.events);
      const second = harness(
        { publish: log.publish, executor: 'second', connection, recent },
        undefined,
        first.time,
      );
      void second.executor.instance.watch(connection, first.time.sleep, ended()).catch(() => undefined);
      second.policy = first.policy;
      if (!isAway) await second.pass(5);
      second.give(second.order([byRule(secretOf(first.api, 'b'))]));
      await second.pass(5);
      expect(toldIn(log.events)).toEqual([...(isAway ? [] : ['a gone']), 'b refused']);
      expect(JSON.stringify(log.events.at(-2))).toContain('rate-limited');
    },
  );
});

const never = (): never => {
  throw new Error('an object was made');
};

test('the intent costs a command one record, and an object no request', async () => {
  const sizes = { intents: 0, results: 0, records: 0 };
  const h = harness({
    publish: async (events) => {
      for (const { event } of events) {
        sizes.records++;
        sizes[isIntent({ event }) ? 'intents' : 'results'] += canonicalJson(event).length;
      }
    },
  });
  const objects = orphans(h.api, 200);
  h.give(h.order(objects.map((object) => itemFor(object))));
  await h.pass(20);
  const deletions = h.api.asked.filter(({ method }) => method === 'DELETE').length;
  expect(deletions).toBe(200);
  // For an object 194 bytes of intent beside 306 of result, and 2.07 requests as without intents.
  expect(sizes.intents / 200).toBeLessThan(200);
  expect(h.api.asked.length / 200).toBeLessThan(2.1);
});

test('two executors at once answer a command in two results, each with an id of its own', async () => {
  const log = sharedLog();
  const first = harness({ publish: log.publish, executor: 'first' });
  const second = harness(
    { publish: log.publish, executor: 'second', connection: first.api.connection() },
    undefined,
    first.time,
  );
  const order = first.order(orphans(first.api, 3).map((object) => itemFor(object)));
  first.give(order);
  second.give(order);
  await first.pass(10);
  const ends = log.events.filter(({ type }) => type === 'fleetgc.cluster.command-result');
  expect(ends).toHaveLength(2);
  expect(new Set(ends.map(({ id }) => id)).size).toBe(2);
});

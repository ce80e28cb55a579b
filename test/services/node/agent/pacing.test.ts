import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Observe } from '../../../../schemas/events/observe.ts';
import type { Reclaim } from '../../../../schemas/events/reclaim.ts';
import {
  begin,
  due,
  expire,
  type Facts,
  finish,
  INITIAL_PACING,
  onDeaths,
  onOrder,
  type Pacing,
  type Work,
} from '../../../../services/node/agent/pacing.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { observe } from '../../../fixtures/observe.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { instant, MINUTE, SECOND } from '../../../fixtures/time.ts';

const facts = (fingerprint: string | null = 'a', availableBytes = '100'): Facts => ({
  fingerprint,
  readings: filesystems({ availableBytes }),
});
const order = (id: string, over: Partial<Reclaim> = {}, overrides: Partial<Observe> = {}): Observe =>
  observe({
    id,
    takenAt: instant({ sinceBootMs: 0 }),
    reclaim: reclaim({ step: 'containers', ...over }),
    ...overrides,
  });

/** Takes and publishes what is due, at once. */
function publish(pacing: Pacing, given: Facts, nowMs: number): readonly [Pacing, Work | null] {
  const now = due(pacing, given, nowMs);
  if (now.kind === 'wait') return [pacing, null];
  return [finish(begin(pacing, now.work), now.work, given, nowMs), now.work];
}
const triggerAt = (pacing: Pacing, nowMs: number, given = facts()): string | null => {
  const now = due(pacing, given, nowMs);
  return now.kind === 'work' ? now.work.trigger : null;
};
/** An agent that published its first inventory at 0. */
const [STARTED] = publish(INITIAL_PACING, facts(), 0);
const withOrder = (pacing: Pacing, given: Observe): Pacing => onOrder(pacing, given)[0];

test('an inventory is due at start', () => {
  expect(triggerAt(INITIAL_PACING, 123)).toBe('start');
});

test.each<{ name: string; pacing: Pacing; given?: Facts; at: number; trigger: string }>([
  { name: 'five minutes after the last', pacing: STARTED, at: 5 * MINUTE, trigger: 'interval' },
  {
    name: 'five seconds after a container died',
    pacing: onDeaths(STARTED, ['c'], 20 * SECOND),
    at: 25 * SECOND,
    trigger: 'container-died',
  },
  {
    name: 'a minute after the last when the listing changed',
    pacing: STARTED,
    given: facts('b'),
    at: MINUTE,
    trigger: 'listing-changed',
  },
  {
    name: 'a minute after the last when that was not complete',
    pacing: publish(INITIAL_PACING, facts(null), 0)[0],
    at: MINUTE,
    trigger: 'listing-changed',
  },
])('an inventory is due $name, not earlier', ({ pacing, given, at, trigger }) => {
  expect(due(pacing, given ?? facts(), at - 1)).toEqual({ kind: 'wait', untilMs: at });
  expect(triggerAt(pacing, at, given)).toBe(trigger);
});

test('deaths within five seconds of the first share an inventory that names them', () => {
  const both = onDeaths(onDeaths(STARTED, ['a'], 10_000), ['b', 'a'], 14_000);
  const [after, work] = publish(both, facts(), 15_000);
  expect(work?.diedContainerIds).toEqual(['a', 'b']);
  expect(triggerAt(after, 30_000)).toBeNull();
});

test('a death while the inventory is taken waits for the next', () => {
  const dying = onDeaths(STARTED, ['a'], 0);
  const now = due(dying, facts(), 5_000);
  if (now.kind === 'wait') throw new Error('an inventory must be due');
  const during = onDeaths(begin(dying, now.work), ['b'], 5_100);
  expect(due(during, facts(), 60_000).kind).toBe('wait');
  const [, next] = publish(finish(during, now.work, facts(), 6_000), facts(), 10_100);
  expect(next).toMatchObject({ trigger: 'container-died', diedContainerIds: ['b'] });
});

test('any inventory covers a change of the listing and begins the five minutes anew', () => {
  const [after] = publish(onDeaths(STARTED, ['c'], 50_000), facts('b'), 55_000);
  expect(triggerAt(after, 4 * MINUTE, facts('b'))).toBeNull();
  expect(triggerAt(after, 5 * MINUTE + 55_000, facts('b'))).toBe('interval');
});

test('the first order is answered at once, before all else', () => {
  const pacing = withOrder(onDeaths(STARTED, ['c'], 0), order('o'));
  const [after, work] = publish(pacing, facts(), 5_000);
  expect(work).toEqual({ trigger: 'order', order: order('o'), diedContainerIds: [] });
  expect(triggerAt(after, 5_000)).toBe('container-died');
});

test('one inventory at a time: an order waits while one is taken', () => {
  const busy = begin(withOrder(STARTED, order('o')), {
    trigger: 'interval',
    order: null,
    diedContainerIds: [],
  });
  expect(due(busy, facts(), 9 * MINUTE)).toEqual({ kind: 'wait', untilMs: Number.POSITIVE_INFINITY });
});

/** The order `o1` of reclaim `reclaim-1` was answered at 10 s, at its step `containers`. */
const [ANSWERED] = publish(withOrder(STARTED, order('o1')), facts(), 10_000);

test.each<{ name: string; next: Partial<Reclaim>; atMs: number }>([
  { name: 'another reclaim: after ten seconds', next: { id: 'reclaim-2' }, atMs: 20_000 },
  { name: 'the same step again: after ten seconds', next: {}, atMs: 20_000 },
  { name: 'the next step of the same reclaim: at once', next: { step: 'images', round: 1 }, atMs: 10_000 },
])('after an answer, $name', ({ next, atMs }) => {
  const pacing = withOrder(ANSWERED, order('o2', next));
  expect(triggerAt(pacing, atMs - 1)).toBe(atMs === 10_000 ? 'order' : null);
  expect(triggerAt(pacing, atMs)).toBe('order');
});

test('the next round of a reclaim is answered at once, an earlier one is not', () => {
  const [second] = publish(withOrder(ANSWERED, order('o2', { step: 'images', round: 2 })), facts(), 10_001);
  expect(triggerAt(withOrder(second, order('o3', { step: 'images', round: 3 })), 10_002)).toBe('order');
  expect(triggerAt(withOrder(second, order('o4', { step: 'images', round: 1 })), 10_002)).toBeNull();
  expect(triggerAt(withOrder(second, order('o5', { step: 'containers' })), 10_002)).toBeNull();
});

test('an order that waits outlasts an inventory that was due meanwhile', () => {
  const waiting = onDeaths(withOrder(ANSWERED, order('o2', { id: 'reclaim-2' })), ['c'], 10_000);
  const [after, work] = publish(waiting, facts(), 15_000);
  expect(work?.trigger).toBe('container-died');
  expect(triggerAt(after, 20_000)).toBe('order');
});

/** Times at which orders of ever new reclaims are answered, when one comes every second. */
function answerTimes(untilMs: number, factsAt: (nowMs: number) => Facts): number[] {
  let pacing = STARTED;
  const times: number[] = [];
  for (let nowMs = 0; nowMs <= untilMs; nowMs += SECOND) {
    const fresh = order(`o${nowMs}`, { id: `r${nowMs}` }, { takenAt: instant({ sinceBootMs: nowMs }) });
    const [after, work] = publish(withOrder(pacing, fresh), factsAt(nowMs), nowMs);
    pacing = after;
    if (work?.trigger === 'order') times.push(nowMs / SECOND);
  }
  return times;
}

test('while nothing changes the pause between answers doubles up to five minutes', () => {
  expect(answerTimes(30 * MINUTE, () => facts())).toEqual([0, 10, 30, 70, 150, 310, 610, 910, 1210, 1510]);
});

test.each<[string, (nowMs: number) => Facts]>([
  ['the listing', (nowMs) => facts(nowMs < 100 * SECOND ? 'a' : 'b')],
  ['the available space', (nowMs) => facts('a', nowMs < 100 * SECOND ? '100' : '80')],
])('once %s changes the pause is ten seconds again', (_name, factsAt) => {
  expect(answerTimes(150 * SECOND, factsAt)).toEqual([0, 10, 30, 70, 100, 110, 130]);
});

test('space that moves by less than a percent has not changed', () => {
  const wobbling = (nowMs: number): Facts => ({
    fingerprint: 'a',
    readings: filesystems({ capacityBytes: '100000', availableBytes: `100${(nowMs / SECOND) % 10}` }),
  });
  expect(answerTimes(70 * SECOND, wobbling)).toEqual([0, 10, 30, 70]);
});

test.each<{ name: string; orders: Observe[]; outcome: string; kept: string }>([
  { name: 'the first waits', orders: [order('o2')], outcome: 'accepted', kept: 'o2' },
  { name: 'the newest of two waits', orders: [order('o2'), order('o3')], outcome: 'coalesced', kept: 'o3' },
  {
    name: 'the next step of the reclaim in hand is not displaced by another reclaim',
    orders: [order('o2', { step: 'images' }), order('o3', { id: 'reclaim-2' })],
    outcome: 'coalesced',
    kept: 'o2',
  },
  {
    name: 'the next step of the reclaim in hand displaces another reclaim',
    orders: [order('o2', { id: 'reclaim-2' }), order('o3', { step: 'images' })],
    outcome: 'coalesced',
    kept: 'o3',
  },
  {
    name: 'one that waits already is not counted twice',
    orders: [order('o2'), order('o2')],
    outcome: 'repeated',
    kept: 'o2',
  },
])('of several orders $name', ({ orders, outcome, kept }) => {
  let [pacing, last]: readonly [Pacing, string] = [ANSWERED, ''];
  for (const next of orders) [pacing, last] = onOrder(pacing, next);
  expect([last, pacing.pending?.id]).toEqual([outcome, kept]);
});

test('an order that was answered is not answered again when the log repeats it', () => {
  expect(onOrder(ANSWERED, order('o1'))).toEqual([ANSWERED, 'repeated']);
});

test('an order that expires while it waits is given up', () => {
  const waiting = withOrder(ANSWERED, order('o2', {}, { takenAt: instant({ sinceBootMs: 5_000 }) }));
  expect(expire(waiting, 65_000)[1]).toBeNull();
  const [after, expired] = expire(waiting, 65_001);
  expect([expired?.id, after.pending]).toEqual(['o2', null]);
});

/** An agent, and when it answered orders of which reclaim. */
function answeringAgent() {
  const answers: { readonly atMs: number; readonly reclaimId: string }[] = [];
  let pacing = STARTED;
  let [nowMs, version, orders] = [0, 0, 0];
  const happenings = {
    order: (reclaimId: number, round: number) => {
      const id = `o${orders++}`;
      pacing = withOrder(pacing, order(id, { id: `r${reclaimId}`, step: 'images', round }));
    },
    death: () => {
      pacing = onDeaths(pacing, ['c'], nowMs);
    },
    change: () => {
      version++;
    },
    nothing: () => undefined,
  };
  const pass = (ms: number): void => {
    nowMs += ms;
    const [after, work] = publish(pacing, facts(`v${version}`), nowMs);
    pacing = after;
    if (work?.order) answers.push({ atMs: nowMs, reclaimId: work.order.reclaim.id });
  };
  return { answers, happenings, pass };
}

const step = fc.record({
  afterMs: fc.integer({ min: 0, max: 20_000 }),
  what: fc.constantFrom('order', 'order', 'death', 'change', 'nothing'),
  reclaimId: fc.integer({ min: 0, max: 2 }),
  round: fc.integer({ min: 1, max: 5 }),
});

test('two reclaims are never answered within ten seconds, and one at most once per round', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { answers, happenings, pass } = answeringAgent();
      for (const { afterMs, what, reclaimId, round } of steps) {
        happenings[what](reclaimId, round);
        pass(afterMs);
      }
      for (const { atMs, reclaimId } of answers) {
        const within = answers.filter((other) => other.atMs <= atMs && other.atMs > atMs - 10_000);
        expect(within.every((other) => other.reclaimId === reclaimId)).toBe(true);
        expect(within.length).toBeLessThanOrEqual(5);
      }
    }),
  );
});

import { describe, expect, test } from 'vitest';
import type { Coverages } from '../../../../packages/audit/verify/coverage.ts';
import { AnsweredOrders } from '../../../../packages/audit/verify/reclaims.ts';
import type { Reclaim } from '../../../../schemas/events/reclaim.ts';
import type { TopicId } from '../../../../schemas/events/topics.ts';
import { inventory, NODE } from '../../../fixtures/inventory.ts';
import { observe } from '../../../fixtures/observe.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { HOUR, NOW, SECOND } from '../../../fixtures/time.ts';
import { ALL, AT_END, at, findings, midway } from './support.ts';

function check(coverages: Partial<Coverages> = {}) {
  const found = findings();
  return { ...found, orders: new AnsweredOrders(found.collector, { ...ALL, ...coverages }) };
}

const FIRST = reclaim({ step: 'containers' });
const OTHER_TARGET = reclaim({ ...FIRST, target: { ...FIRST.target, atLeast: '400' } });
const OTHER_INSTANCE = '00000000-0000-4000-8000-000000000000';

const answer = (carried: Reclaim | null) => inventory({ reclaim: carried });
const begun = (carried: Reclaim, over: object = {}) => ({
  ...NODE,
  decider: { name: 'pressure', version: '1' },
  outcome: 'ordered',
  reclaim: carried,
  ...over,
});

describe('an inventory of a reclaim', () => {
  test('answers an order, whichever lies first on the log', () => {
    for (const comesFirst of [true, false]) {
      const { orders, deviations } = check();
      if (comesFirst) orders.listed(answer(FIRST), at('inventory', 1, SECOND));
      orders.ordered(observe({ reclaim: FIRST }), at('observe', 0));
      if (!comesFirst) orders.listed(answer(FIRST), at('inventory', 1, SECOND));
      orders.judge(AT_END);
      expect(deviations()).toEqual([]);
    }
  });

  test('that no order has was not decided', () => {
    const { orders, deviations } = check();
    orders.listed(answer(FIRST), at('inventory', 1));
    orders.judge(AT_END);
    expect(deviations()).toEqual(['not-decided 1']);
  });

  test('that is at a round which nobody ordered was not decided', () => {
    const { orders, deviations } = check();
    orders.ordered(observe({ reclaim: FIRST }), at('observe', 0));
    orders.listed(answer({ ...FIRST, step: 'images', round: 3 }), at('inventory', 1));
    orders.judge(AT_END);
    expect(deviations()).toEqual(['not-decided 1']);
  });

  test('that was ordered from another installation was not decided', () => {
    const { orders, deviations } = check();
    orders.ordered(observe({ nodeInstance: OTHER_INSTANCE, reclaim: FIRST }), at('observe', 0));
    orders.listed(answer(FIRST), at('inventory', 1));
    orders.judge(AT_END);
    expect(deviations()).toEqual(['not-decided 1']);
  });

  test('with another target than its order differs from it', () => {
    const { orders, deviations } = check();
    orders.ordered(observe({ reclaim: FIRST }), at('observe', 0));
    orders.listed(answer(OTHER_TARGET), at('inventory', 1));
    orders.judge(AT_END);
    expect(deviations()).toEqual(['output-differs 1,0']);
  });

  test('is judged when its order has come, if it ever does', () => {
    const { orders, deviations } = check();
    orders.listed(answer(FIRST), at('inventory', 1, HOUR));
    orders.judge(midway(HOUR));
    expect(deviations()).toEqual([]);
    orders.judge(midway(HOUR + SECOND));
    expect(deviations()).toEqual(['not-decided 1']);
  });

  test('answers an order of the day before', () => {
    const { orders, deviations } = check();
    orders.ordered(observe({ reclaim: FIRST }), at('observe', 0));
    orders.judge(midway(23 * HOUR));
    orders.listed(answer(FIRST), at('inventory', 1, 23 * HOUR));
    orders.judge(AT_END);
    expect(deviations()).toEqual([]);
  });

  test('that is of no reclaim answers nothing', () => {
    const { orders, deviations } = check();
    orders.listed(answer(null), at('inventory', 1));
    orders.listed('nothing that anybody reads', at('inventory', 2));
    orders.judge(AT_END);
    expect(deviations()).toEqual([]);
  });
});

const since = (topicId: TopicId) => (asked: TopicId) =>
  asked === topicId ? NOW + HOUR : Number.NEGATIVE_INFINITY;

describe.each<{ name: string; coverages: Partial<Coverages> }>([
  { name: 'where retention took orders', coverages: { coverage: since('observe') } },
  { name: 'where the topic of orders was made anew', coverages: { beganAfter: (id) => id === 'observe' } },
])('$name, an inventory of a reclaim', ({ coverages }) => {
  test('is that of the decision that began it, at whatever round', () => {
    const { orders, deviations, counts } = check(coverages);
    orders.decided(begun(FIRST), at('decisions', 0));
    orders.listed(answer({ ...FIRST, step: 'images', round: 2 }), at('inventory', 1));
    orders.judge(AT_END);
    expect([...deviations(), counts.outOfRange]).toEqual([0]);
  });

  test('with another target than that decision differs from it', () => {
    const { orders, deviations } = check(coverages);
    orders.decided(begun(FIRST), at('decisions', 0));
    orders.listed(answer(OTHER_TARGET), at('inventory', 1));
    orders.judge(AT_END);
    expect(deviations()).toEqual(['output-differs 1,0']);
  });

  test('was not decided where pressure began none', () => {
    const { orders, deviations } = check(coverages);
    orders.decided(begun(FIRST, { decider: { name: 'image-gc', version: '1' } }), at('decisions', 0));
    orders.decided(begun(FIRST, { outcome: 'nothing-to-do' }), at('decisions', 1));
    orders.listed(answer(FIRST), at('inventory', 1));
    orders.judge(AT_END);
    expect(deviations()).toEqual(['not-decided 1']);
  });

  test('is only counted where a decision that nobody reads may have begun it', () => {
    const { orders, deviations, counts } = check(coverages);
    orders.unreadDecision();
    orders.listed(answer(FIRST), at('inventory', 1));
    orders.judge(AT_END);
    expect([...deviations(), counts.outOfRange]).toEqual([1]);
  });
});

test('without orders and decisions of that time, an inventory of a reclaim is only counted', () => {
  const { orders, deviations, counts } = check({ coverage: () => NOW });
  orders.listed(answer(FIRST), at('inventory', 1));
  orders.judge(AT_END);
  expect([...deviations(), counts.outOfRange]).toEqual([1]);
});

test('without decisions of that time, what has no order is only counted, and told where only others are gone', () => {
  for (const { gone, outOfRange } of [
    { gone: ['observe', 'decisions'], outOfRange: 1 },
    { gone: ['observe', 'commands'], outOfRange: 0 },
  ]) {
    const coverage = (asked: TopicId) => (gone.includes(asked) ? NOW + HOUR : Number.NEGATIVE_INFINITY);
    const { orders, deviations, counts } = check({ coverage });
    orders.listed(answer(FIRST), at('inventory', 1));
    orders.judge(AT_END);
    expect([deviations().length, counts.outOfRange]).toEqual([1 - outOfRange, outOfRange]);
  }
});

test('an inventory with another target is compared with the order of its step and round', () => {
  const { orders, deviations } = check();
  const second = { ...FIRST, step: 'images' } as const;
  orders.ordered(observe({ reclaim: FIRST }), at('observe', 0));
  orders.ordered(observe({ reclaim: second }), at('observe', 1));
  orders.ordered(observe({ reclaim: { ...second, round: 2 } }), at('observe', 2));
  orders.listed(answer({ ...second, target: OTHER_TARGET.target }), at('inventory', 5));
  orders.judge(AT_END);
  expect(deviations()).toEqual(['output-differs 5,1']);
});

test('where orders and decisions were made anew, what an inventory answers is unverified', () => {
  const { orders, deviations, gaps } = check({ beganAfter: () => true });
  orders.listed(answer(FIRST), at('inventory', 1));
  orders.judge(AT_END);
  expect([...deviations(), ...gaps()]).toEqual(['topic-recreated 1']);
});

test('an order is known for a day after the judged time, and so is a decision that began a reclaim', () => {
  for (const { afterMs, expected } of [
    { afterMs: 24 * HOUR, expected: [] },
    { afterMs: 24 * HOUR + 1, expected: ['not-decided 1'] },
  ]) {
    const { orders, deviations } = check();
    orders.ordered(observe({ reclaim: FIRST }), at('observe', 0));
    orders.judge(midway(afterMs));
    orders.listed(answer(FIRST), at('inventory', 1, afterMs));
    orders.judge(AT_END);
    expect(deviations()).toEqual(expected);
  }
});

/** How often members of these orders are read, for inventories of their reclaim that none of them has. */
function readsOf(orders: AnsweredOrders, most: number): number {
  let reads = 0;
  for (let index = 0; index < most; index++) {
    const { id, ...rest } = reclaim({ ...FIRST, target: { ...FIRST.target, atLeast: String(index) } });
    const counted = {
      ...rest,
      get id() {
        reads++;
        return id;
      },
    };
    orders.ordered({ ...observe(), reclaim: counted }, at('observe', index));
    orders.listed(answer({ ...FIRST, step: 'images', round: 3 }), at('inventory', index, SECOND));
  }
  orders.judge(AT_END);
  return reads;
}

test('many orders of one reclaim and many inventories take work that grows with them', () => {
  const [few, many] = [10, 100].map((most) => readsOf(check().orders, most));
  expect(many).toBe(10 * Number(few));
});

import { expect, test } from 'vitest';
import { createOrderTally } from '../../../../lab/sim/fleet-run/tally.ts';
import { MINUTE } from '../../../fixtures/time.ts';

function setUp() {
  let nowMs = 0;
  const orders = createOrderTally(() => nowMs);
  const order = (node: string, outcome: string) => orders.arrives(node, () => orders.counted(node, outcome));
  return {
    orders,
    order,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

test('an order is open until it is answered, and lost when it is neither answered nor given up', () => {
  const { orders, order, pass } = setUp();
  order('a', 'accepted');
  order('b', 'accepted');
  orders.answered('a');
  expect(orders.counts()).toMatchObject({ received: 2, answered: 1, open: 1, lost: 0 });
  pass(2 * MINUTE);
  expect(orders.counts()).toMatchObject({ open: 0, lost: 1 });
});

test.each([
  {
    name: 'expired while it waited',
    end: ({ orders }: ReturnType<typeof setUp>) => orders.counted('a', 'expired'),
  },
  {
    name: 'waited with an agent that was killed',
    end: ({ orders }: ReturnType<typeof setUp>) => orders.interrupted('a'),
  },
])('an order that $name is not lost', ({ end }) => {
  const scene = setUp();
  scene.order('a', 'accepted');
  end(scene);
  scene.pass(2 * MINUTE);
  expect(scene.orders.counts()).toMatchObject({ open: 0, lost: 0 });
});

test.each(['repeated', 'coalesced', 'expired', 'other-boot'])(
  'an order that is %s when it comes waits for nothing',
  (outcome) => {
    const { orders, order, pass } = setUp();
    order('a', outcome);
    pass(2 * MINUTE);
    expect(orders.counts()).toMatchObject({ received: 1, open: 0, lost: 0, outcomes: { [outcome]: 1 } });
  },
);

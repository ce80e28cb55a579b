import { OBSERVE_LIFETIME_MS } from '../../../schemas/events/observe.ts';
import { type Counts, createCounter } from './counter.ts';

/** What became of the orders to observe, as the agents count them. */
export interface OrderTally {
  /** An order came to a node that is there; `deliver` gives it to the agent. */
  arrives<T>(node: string, deliver: () => T): T;
  /** What an agent counted. */
  counted(node: string, outcome: string): void;
  /** An inventory that answers an order is on the log. */
  answered(node: string): void;
  /** The agent died with what it had. */
  interrupted(node: string): void;
  counts(): OrderCounts;
}

export interface OrderCounts {
  readonly received: number;
  readonly answered: number;
  /** By what agents said when they came, or when they waited too long. */
  readonly outcomes: Counts<string>;
  /** Waited with an agent that was killed; the log brings them to the next one. */
  readonly interrupted: number;
  /** Waiting yet, and not too old. */
  readonly open: number;
  /** Accepted long ago, and neither answered nor given up. */
  readonly lost: number;
}

interface NodeOrders {
  waiting: number;
  acceptedMs: number;
}

/** Beyond its lifetime an order that waits is given up within so long. */
const GRACE_MS = 10_000;

export function createOrderTally(nowMs: () => number): OrderTally {
  const nodes = new Map<string, NodeOrders>();
  const outcomes = createCounter();
  const totals = { received: 0, answered: 0, interrupted: 0 };
  let arriving: string | null = null;
  const of = (node: string): NodeOrders => {
    const known = nodes.get(node) ?? { waiting: 0, acceptedMs: 0 };
    nodes.set(node, known);
    return known;
  };
  const done = (node: string): void => {
    const orders = of(node);
    orders.waiting = Math.max(0, orders.waiting - 1);
  };
  return {
    arrives: (node, deliver) => {
      totals.received += 1;
      arriving = node;
      try {
        return deliver();
      } finally {
        arriving = null;
      }
    },
    counted: (node, outcome) => {
      if (arriving === node && outcome === 'accepted') {
        of(node).waiting += 1;
        of(node).acceptedMs = nowMs();
      }
      if (arriving === null && outcome === 'expired') done(node);
      outcomes.add(arriving === null ? `${outcome}-waiting` : outcome);
    },
    answered: (node) => {
      totals.answered += 1;
      done(node);
    },
    interrupted: (node) => {
      totals.interrupted += of(node).waiting;
      of(node).waiting = 0;
    },
    counts: () => {
      const waiting = [...nodes.values()].filter((orders) => orders.waiting > 0);
      const isOld = ({ acceptedMs }: NodeOrders): boolean =>
        nowMs() - acceptedMs > OBSERVE_LIFETIME_MS + GRACE_MS;
      const sum = (some: readonly NodeOrders[]): number =>
        some.reduce((total, one) => total + one.waiting, 0);
      return {
        ...totals,
        outcomes: { ...outcomes.counts },
        open: sum(waiting.filter((orders) => !isOld(orders))),
        lost: sum(waiting.filter(isOld)),
      };
    },
  };
}

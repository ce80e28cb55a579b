import { z } from 'zod';
import type { LogRecord } from '../../../../packages/event-log/port.ts';
import { Decision } from '../../../../schemas/events/decision.ts';
import { nodeKey } from '../../../../schemas/events/identity.ts';
import { InventoryHead } from '../../../../schemas/events/inventory.ts';
import type { Observe } from '../../../../schemas/events/observe.ts';
import type { Reclaim } from '../../../../schemas/events/reclaim.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import { type Coverages, type Judging, LATE_RESULT_MS, tellMissing } from '../coverage.ts';
import type { Findings } from '../findings.ts';
import { firstDifference, sameJson } from '../same-json.ts';

const Answering = InventoryHead.pick({ cluster: true, node: true, nodeInstance: true, reclaim: true });

/** A reclaim in an order, or in the inventory that answers it. */
interface Carried {
  readonly reclaim: Reclaim;
  readonly node: string;
  readonly nodeInstance: string;
  readonly place: Place;
}

/** A reclaim begins with a decision of pressure, which names it. */
const Beginning = Decision.pick({ cluster: true, node: true, nodeInstance: true, reclaim: true }).extend({
  decider: z.object({ name: z.literal('pressure') }),
  outcome: z.literal('ordered'),
});

/**
 * Brings together inventories of reclaims and the orders that they answer; where orders are deleted, which are kept for a day, or
 * their topic was, the decisions with which reclaims began.
 */
export function createAnsweredOrders(
  findings: Findings,
  { coverage, beganAfter }: Pick<Coverages, 'coverage' | 'beganAfter'>,
) {
  const orders = new Map<string, Carried[]>();
  const beginnings = new Map<string, Carried[]>();
  let answers: Carried[] = [];
  let mayBeBegunUnread = false;

  const tellOther = ({ reclaim, node, place }: Carried, of: Carried, what: string): void => {
    const message = `its reclaim is not that of its ${what}: ${firstDifference(reclaim, of.reclaim)}`;
    findings.deviation({ kind: 'output-differs', message, node, places: [place, of.place] });
  };

  /** Only its round and step nobody can tell. */
  const judgeWithoutOrders = (answer: Carried): void => {
    const { reclaim, node, place } = answer;
    const ofReclaim = beginnings.get(nameOf(answer)) ?? [];
    const [beginning] = ofReclaim;
    if (beginning !== undefined) {
      if (!ofReclaim.some((one) => isOfSameReclaim(one.reclaim, reclaim)))
        tellOther(answer, beginning, 'decision');
    } else if (mayBeBegunUnread || place.timestampMs - LATE_RESULT_MS < coverage('decisions'))
      findings.counts.outOfRange++;
    else {
      const message = `no decision of pressure began the reclaim ${reclaim.id} that it carries`;
      const due = { topicId: 'decisions', timestampMs: place.timestampMs } as const;
      tellMissing({ findings, beganAfter }, due, { kind: 'not-decided', message, node, places: [place] });
    }
  };

  const areOrdersGone = ({ timestampMs }: Place): boolean =>
    timestampMs - LATE_RESULT_MS < coverage('observe') || beganAfter('observe', timestampMs);

  const judgeAnswer = (answer: Carried): void => {
    const { reclaim, node, place } = answer;
    const ofReclaim = orders.get(nameOf(answer)) ?? [];
    if (ofReclaim.some((order) => sameJson(reclaim, order.reclaim))) return;
    const order = ofReclaim.find((one) => isSamePosition(one.reclaim, reclaim)) ?? ofReclaim[0];
    if (order !== undefined && !ofReclaim.some((one) => isOfSameReclaim(one.reclaim, reclaim)))
      tellOther(answer, order, 'order');
    else if (areOrdersGone(place)) judgeWithoutOrders(answer);
    else {
      const message = `no order has the reclaim ${reclaim.id}, step ${reclaim.step}, round ${reclaim.round}, that it carries`;
      findings.deviation({ kind: 'not-decided', message, node, places: [place] });
    }
  };

  return {
    ordered: (order: Observe, record: LogRecord): void => {
      const carried = carriedBy(order, order.reclaim, record);
      orders.set(nameOf(carried), [...(orders.get(nameOf(carried)) ?? []), carried]);
    },
    /** A decision, which may be one that begins a reclaim. */
    decided: (decision: unknown, record: LogRecord): void => {
      const begun = Beginning.safeParse(decision).data;
      if (begun === undefined || begun.reclaim === null) return;
      const carried = carriedBy(begun, begun.reclaim, record);
      beginnings.set(nameOf(carried), [...(beginnings.get(nameOf(carried)) ?? []), carried]);
    },
    /** A decision of a newer release, which may be one that begins a reclaim too. */
    unreadDecision: (): void => {
      mayBeBegunUnread = true;
    },
    listed: (inventory: unknown, record: LogRecord): void => {
      const answer = Answering.safeParse(inventory).data;
      if (answer !== undefined && answer.reclaim !== null)
        answers.push(carriedBy(answer, answer.reclaim, record));
    },
    judge: ({ beforeMs }: Judging): void => {
      const [due = [], waiting = []] = partition(answers, beforeMs);
      due.forEach(judgeAnswer);
      answers = waiting;
      for (const ofReclaims of [orders, beginnings])
        for (const [name, all] of ofReclaims)
          if (all.every(({ place }) => place.timestampMs < beforeMs - LATE_RESULT_MS))
            ofReclaims.delete(name);
    },
  };
}

const partition = (answers: readonly Carried[], beforeMs: number): readonly Carried[][] => [
  answers.filter(({ place }) => place.timestampMs < beforeMs),
  answers.filter(({ place }) => place.timestampMs >= beforeMs),
];

const carriedBy = (
  event: Pick<Observe, 'cluster' | 'node' | 'nodeInstance'>,
  reclaim: Reclaim,
  record: LogRecord,
): Carried => ({ reclaim, node: nodeKey(event), nodeInstance: event.nodeInstance, place: placeOf(record) });

/** Agents answer orders to their own installation alone. */
const nameOf = ({ node, nodeInstance, reclaim }: Carried): string => `${node} ${nodeInstance} ${reclaim.id}`;

const isSamePosition = (a: Reclaim, b: Reclaim): boolean => a.step === b.step && a.round === b.round;

/** Only step and round change while a reclaim goes on; the order of another round may lie before the range. */
const isOfSameReclaim = (ordered: Reclaim, { step, round, ...rest }: Reclaim): boolean =>
  sameJson({ ...ordered, step, round }, { step, round, ...rest });

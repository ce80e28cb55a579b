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
export class AnsweredOrders {
  readonly #findings: Findings;
  readonly #coverages: Pick<Coverages, 'coverage' | 'beganAfter'>;
  readonly #orders = new Map<string, Carried[]>();
  readonly #beginnings = new Map<string, Carried[]>();
  #answers: Carried[] = [];
  #mayBeBegunUnread = false;

  constructor(findings: Findings, coverages: Pick<Coverages, 'coverage' | 'beganAfter'>) {
    this.#findings = findings;
    this.#coverages = coverages;
  }

  ordered(order: Observe, record: LogRecord): void {
    addTo(this.#orders, carriedBy(order, order.reclaim, record));
  }

  /** A decision, which may be one that begins a reclaim. */
  decided(decision: unknown, record: LogRecord): void {
    const begun = Beginning.safeParse(decision).data;
    if (begun === undefined || begun.reclaim === null) return;
    addTo(this.#beginnings, carriedBy(begun, begun.reclaim, record));
  }

  /** A decision of a newer release, which may be one that begins a reclaim too. */
  unreadDecision(): void {
    this.#mayBeBegunUnread = true;
  }

  listed(inventory: unknown, record: LogRecord): void {
    const answer = Answering.safeParse(inventory).data;
    if (answer !== undefined && answer.reclaim !== null)
      this.#answers.push(carriedBy(answer, answer.reclaim, record));
  }

  judge({ beforeMs }: Judging): void {
    const isDue = ({ place }: Carried): boolean => place.timestampMs < beforeMs;
    for (const answer of this.#answers) if (isDue(answer)) this.#judgeAnswer(answer);
    this.#answers = this.#answers.filter((answer) => !isDue(answer));
    for (const ofReclaims of [this.#orders, this.#beginnings])
      for (const [name, all] of ofReclaims)
        if (all.every(({ place }) => place.timestampMs < beforeMs - LATE_RESULT_MS)) ofReclaims.delete(name);
  }

  #judgeAnswer(answer: Carried): void {
    const { reclaim, node, place } = answer;
    const ofReclaim = this.#orders.get(nameOf(answer)) ?? [];
    if (ofReclaim.some((order) => sameJson(reclaim, order.reclaim))) return;
    const order = ofReclaim.find((one) => isSamePosition(one.reclaim, reclaim)) ?? ofReclaim[0];
    if (order !== undefined && !ofReclaim.some((one) => isOfSameReclaim(one.reclaim, reclaim)))
      this.#tellOther(answer, order, 'order');
    else if (this.#areOrdersGone(place)) this.#judgeWithoutOrders(answer);
    else {
      const message = `no order has the reclaim ${reclaim.id}, step ${reclaim.step}, round ${reclaim.round}, that it carries`;
      this.#findings.deviation({ kind: 'not-decided', message, node, places: [place] });
    }
  }

  #areOrdersGone({ timestampMs }: Place): boolean {
    const { coverage, beganAfter } = this.#coverages;
    return timestampMs - LATE_RESULT_MS < coverage('observe') || beganAfter('observe', timestampMs);
  }

  /** Only its round and step nobody can tell. */
  #judgeWithoutOrders(answer: Carried): void {
    const { reclaim, node, place } = answer;
    const { coverage, beganAfter } = this.#coverages;
    const ofReclaim = this.#beginnings.get(nameOf(answer)) ?? [];
    const [beginning] = ofReclaim;
    if (beginning !== undefined) {
      if (!ofReclaim.some((one) => isOfSameReclaim(one.reclaim, reclaim)))
        this.#tellOther(answer, beginning, 'decision');
    } else if (this.#mayBeBegunUnread || place.timestampMs - LATE_RESULT_MS < coverage('decisions'))
      this.#findings.counts.outOfRange++;
    else {
      const message = `no decision of pressure began the reclaim ${reclaim.id} that it carries`;
      const due = { topicId: 'decisions', timestampMs: place.timestampMs } as const;
      const missing = { findings: this.#findings, beganAfter };
      tellMissing(missing, due, { kind: 'not-decided', message, node, places: [place] });
    }
  }

  #tellOther({ reclaim, node, place }: Carried, of: Carried, what: string): void {
    const message = `its reclaim is not that of its ${what}: ${firstDifference(reclaim, of.reclaim)}`;
    this.#findings.deviation({ kind: 'output-differs', message, node, places: [place, of.place] });
  }
}

function addTo(byName: Map<string, Carried[]>, carried: Carried): void {
  const name = nameOf(carried);
  byName.set(name, [...(byName.get(name) ?? []), carried]);
}

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

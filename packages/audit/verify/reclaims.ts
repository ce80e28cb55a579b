import { z } from 'zod';
import type { Command, Holder } from '../../../schemas/events/command.ts';
import { Decision } from '../../../schemas/events/decision.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import { InventoryHead } from '../../../schemas/events/inventory.ts';
import type { Observe } from '../../../schemas/events/observe.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { PressureUnrelieved, ReclaimContinues } from '../../../schemas/events/result.ts';
import { canonicalJson } from '../../canonical/ids.ts';
import { continuesId, nextReclaim, reclaimContinues, unrelievedId } from '../../decision/result-ids.ts';
import type { LogRecord } from '../../log/port.ts';
import { type Place, placeOf } from '../events/log-position.ts';
import { type Coverages, type Judging, LATE_RESULT_MS, tellMissing } from './coverage.ts';
import { type Findings, firstDifference, sameJson } from './findings.ts';

const Answering = InventoryHead.pick({ cluster: true, node: true, nodeInstance: true, reclaim: true });

/** A reclaim in an order, or in the inventory that answers it. */
interface Carried {
  readonly reclaim: Reclaim;
  readonly node: string;
  readonly nodeInstance: string;
  readonly place: Place;
}

/**
 * All that carries a reclaim of one name. Many inventories may answer it, and an attacker may have written many orders of it: what one of
 * them asks for takes the same time, however many there are.
 */
class CarryingReclaim {
  readonly first: Carried;
  readonly #firstAt = new Map<string, Carried>();
  readonly #whole = new Set<string>();
  readonly #lasting = new Set<string>();
  #latestMs = Number.NEGATIVE_INFINITY;

  constructor(first: Carried) {
    this.first = first;
  }

  /** Epoch milliseconds. */
  get latestMs(): number {
    return this.#latestMs;
  }

  add(carried: Carried): void {
    const { reclaim, place } = carried;
    this.#whole.add(canonicalJson(reclaim));
    this.#lasting.add(lastingJson(reclaim));
    const position = positionOf(reclaim);
    if (!this.#firstAt.has(position)) this.#firstAt.set(position, carried);
    this.#latestMs = Math.max(this.#latestMs, place.timestampMs);
  }

  hasWhole(reclaim: Reclaim): boolean {
    return this.#whole.has(canonicalJson(reclaim));
  }

  /** Whether one of them is of the same reclaim; the one of this step and round may lie before the range. */
  hasLasting(reclaim: Reclaim): boolean {
    return this.#lasting.has(lastingJson(reclaim));
  }

  /** That of the same step and round; else the first of all. */
  nearest(reclaim: Reclaim): Carried {
    return this.#firstAt.get(positionOf(reclaim)) ?? this.first;
  }
}

const positionOf = ({ step, round }: Reclaim): string => `${step} ${round}`;

/** Only step and round change while a reclaim goes on. */
const lastingJson = ({ step, round, ...rest }: Reclaim): string => canonicalJson(rest);

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
  readonly #coverages: Coverages;
  readonly #orders = new Map<string, CarryingReclaim>();
  readonly #beginnings = new Map<string, CarryingReclaim>();
  #answers: Carried[] = [];
  #mayBeBegunUnread = false;

  constructor(findings: Findings, coverages: Coverages) {
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
        if (all.latestMs < beforeMs - LATE_RESULT_MS) ofReclaims.delete(name);
  }

  #judgeAnswer(answer: Carried): void {
    const { reclaim, node, place } = answer;
    const ordered = this.#orders.get(nameOf(answer));
    if (ordered?.hasWhole(reclaim)) return;
    if (ordered !== undefined && !ordered.hasLasting(reclaim))
      this.#tellOther(answer, ordered.nearest(reclaim), 'order');
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
    const { coverage } = this.#coverages;
    const begun = this.#beginnings.get(nameOf(answer));
    if (begun !== undefined) {
      if (!begun.hasLasting(reclaim)) this.#tellOther(answer, begun.first, 'decision');
    } else if (this.#mayBeBegunUnread || place.timestampMs - LATE_RESULT_MS < coverage('decisions'))
      this.#findings.counts.outOfRange++;
    else {
      const message = `no decision of pressure began the reclaim ${reclaim.id} that it carries`;
      const due = { topicId: 'decisions', timestampMs: place.timestampMs } as const;
      tellMissing(this.#findings, this.#coverages, due, {
        kind: 'not-decided',
        message,
        node,
        places: [place],
      });
    }
  }

  #tellOther({ reclaim, node, place }: Carried, of: Carried, what: string): void {
    const message = `its reclaim is not that of its ${what}: ${firstDifference(reclaim, of.reclaim)}`;
    this.#findings.deviation({ kind: 'output-differs', message, node, places: [place, of.place] });
  }
}

function addTo(byName: Map<string, CarryingReclaim>, carried: Carried): void {
  const name = nameOf(carried);
  const ofReclaim = byName.get(name) ?? new CarryingReclaim(carried);
  ofReclaim.add(carried);
  byName.set(name, ofReclaim);
}

const carriedBy = (
  event: Pick<Observe, 'cluster' | 'node' | 'nodeInstance'>,
  reclaim: Reclaim,
  record: LogRecord,
): Carried => ({ reclaim, node: nodeKey(event), nodeInstance: event.nodeInstance, place: placeOf(record) });

/** Agents answer orders to their own installation alone. */
const nameOf = ({ node, nodeInstance, reclaim }: Carried): string => `${node} ${nodeInstance} ${reclaim.id}`;

/** What an executor says of a reclaim follows from its command. */
export type OfReclaim = ReclaimContinues | PressureUnrelieved;

/** Facts of a reclaim come within minutes; so many commands of one partition are kept. */
const MOST_COMMANDS = 20_000;
/** The id of a fact follows from the id of its command: it goes on with the reclaim, or it ends it. */
const FACT_IDS = [continuesId, unrelievedId];

/** A fact that follows from a command of its reclaim, and not from a decision. */
export interface Executed {
  readonly command: Place;
  /** Where it is not what follows from that command, for people. */
  readonly difference: string | null;
}

/** What an executor copies from a command. */
interface Commanded extends Pick<Command, 'id' | 'cluster' | 'node' | 'nodeInstance'> {
  readonly reclaim: Reclaim;
  readonly holders: readonly Holder[];
  readonly place: Place;
}

/** Keeps from which commands of a reclaim an executor may go on with it, and how. */
export class ExecutedReclaims {
  readonly #byFactId = new Map<string, Commanded>();

  commanded(command: Command, record: LogRecord): void {
    const { id, cluster, node, nodeInstance, reclaim } = command;
    if (reclaim === null) return;
    const holders = 'holders' in command ? command.holders : [];
    const commanded = { id, cluster, node, nodeInstance, reclaim, holders, place: placeOf(record) };
    for (const idOf of FACT_IDS) keep(this.#byFactId, idOf(id), commanded);
  }

  /** `null` where it follows from no command of its reclaim. */
  executed(event: OfReclaim): Executed | null {
    const command = this.#byFactId.get(event.id);
    if (command?.reclaim.id !== event.reclaim.id) return null;
    const expected = expectedOf(event, command);
    if (expected === null) return null;
    const found = withLastingHolders(event);
    const difference = sameJson(found, expected) ? null : firstDifference(found, expected);
    return { command: command.place, difference };
  }
}

function keep(byFactId: Map<string, Commanded>, factId: string, commanded: Commanded): void {
  // A command that comes again says the same.
  if (byFactId.has(factId)) return;
  byFactId.set(factId, commanded);
  const [oldest] = byFactId.keys();
  if (byFactId.size > MOST_COMMANDS * FACT_IDS.length && oldest !== undefined) byFactId.delete(oldest);
}

/** What an event of this id says when it follows from a command; what the executor measured is as it says. */
function expectedOf(event: OfReclaim, command: Commanded): unknown {
  if (event.type === 'fleetgc.node.reclaim-continues') return expectedToGoOn(event, command);
  const { id, cluster, node, nodeInstance, reclaim, holders } = command;
  if (event.id !== unrelievedId(id)) return null;
  return withLastingHolders({ ...event, cluster, node, nodeInstance, reclaim, holders: [...holders] });
}

/** Whether a round of images removed something is not asked here: both ways to go on are right. */
function expectedToGoOn(event: ReclaimContinues, command: Commanded): ReclaimContinues | null {
  if (event.id !== continuesId(command.id)) return null;
  const ways = [true, false]
    .flatMap((mayHelp) => nextReclaim(command.reclaim, mayHelp) ?? [])
    .map((reclaim) => reclaimContinues(command, { ...event, reclaim }));
  return ways.find((way) => sameJson(way.reclaim, event.reclaim)) ?? ways[0] ?? null;
}

/** Executors add to these what of the command stayed (M8). */
const ADDED_TO: readonly Holder['reason'][] = ['waiting', 'backing-off', 'held'];

const withLastingHolders = <Event extends OfReclaim>(event: Event): Event =>
  'holders' in event
    ? { ...event, holders: event.holders.filter(({ reason }) => !ADDED_TO.includes(reason)) }
    : event;

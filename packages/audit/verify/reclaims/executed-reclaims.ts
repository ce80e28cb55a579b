import type { Command, Holder } from '../../../../schemas/events/command.ts';
import type { Reclaim } from '../../../../schemas/events/reclaim.ts';
import type { PressureUnrelieved, ReclaimContinues } from '../../../../schemas/events/result.ts';
import { nextReclaim, reclaimContinues } from '../../../decision/next-reclaim.ts';
import { continuesId, unrelievedId } from '../../../decision/result-ids.ts';
import type { LogRecord } from '../../../log/port.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import { firstDifference, sameJson } from '../same-json.ts';

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

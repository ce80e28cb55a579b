import type { Command, Holder } from '../../../schemas/command.ts';
import type { Reclaim } from '../../../schemas/reclaim.ts';
import type { PressureUnrelieved, ReclaimContinues } from '../../../schemas/result.ts';
import type { LogRecord } from '../../shared/event-log/port.ts';
import { nextReclaim, reclaimContinues } from '../../shared/next-reclaim.ts';
import { continuesId, unrelievedId } from '../../shared/result-ids.ts';
import { type Place, placeOf } from './findings.ts';
import { firstDifference, sameJson } from './same-json.ts';

/** What an executor says of a reclaim follows from its command. */
export type OfReclaim = ReclaimContinues | PressureUnrelieved;

/** Facts of a reclaim come within minutes; so many reclaims are remembered. */
const MOST_RECLAIMS = 5_000;

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

/** Remembers from which commands of a reclaim an executor may go on with it, and how. */
export function createReclaims() {
  const commands = new Map<string, Commanded[]>();
  return {
    commanded: (command: Command, record: LogRecord): void => {
      const { id, cluster, node, nodeInstance, reclaim } = command;
      if (reclaim === null) return;
      const holders = command.kind === 'image-removal' ? command.holders : [];
      const commanded = { id, cluster, node, nodeInstance, reclaim, holders, place: placeOf(record) };
      commands.set(reclaim.id, [...(commands.get(reclaim.id) ?? []), commanded]);
      const [oldest] = commands.keys();
      if (commands.size > MOST_RECLAIMS && oldest !== undefined) commands.delete(oldest);
    },
    /** `null` where it follows from no command of its reclaim. */
    executed: (event: OfReclaim): Executed | null => {
      for (const command of commands.get(event.reclaim.id) ?? []) {
        const expected = expectedOf(event, command);
        if (expected === null) continue;
        const found = withLastingHolders(event);
        const difference = sameJson(found, expected) ? null : firstDifference(found, expected);
        return { command: command.place, difference };
      }
      return null;
    },
  };
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

import { clusterCommandResultId, clusterObjectResultsId } from '../../../packages/decision/result-ids.ts';
import type { TraceContext } from '../../../packages/process/trace.ts';
import type { IntendedObject } from '../../../schemas/events/cluster-intent.ts';
import {
  type ClusterCommandResult,
  type ClusterObjectOutcome,
  type ClusterObjectResults,
  MAX_OWNERS_TOLD,
} from '../../../schemas/events/cluster-result.ts';
import type { CommandRefused } from './command-checks.ts';
import type { ExecutorMetrics } from './metrics.ts';
import { cut, type Order, type ReceivedCommand } from './order.ts';
import type { ClusterOutbox } from './outbox.ts';
import type { ExecutorPorts } from './ports.ts';

type Told = ClusterObjectResults['objects'][number];
type Counts = Extract<ClusterCommandResult['result'], { outcome: 'done' }>['counts'];

type Named = Pick<ReceivedCommand['command'], 'id' | 'decisionId'>;
type AnnouncedCommand = Pick<ClusterObjectResults, 'commandId' | 'decisionId'>;

/** A command of which not all objects are settled, or told. */
interface Open {
  readonly received: ReceivedCommand;
  /** Objects that this executor does not work on, since the API server does not tell of them, by uid. */
  readonly leftOut: Set<string>;
  left: number;
  counts: Counts;
  untold: readonly Told[];
}

/** Objects of one result. */
const MOST_OBJECTS = 100;
/** Ids of commands that are answered already; those of more than an hour ago have long expired. */
const MAX_KNOWN = 100_000;

function countsOf(outcomes: Iterable<ClusterObjectOutcome['outcome']>): Counts {
  const counts: Counts = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

function countIn(open: Open, { outcome }: ClusterObjectOutcome): void {
  open.left--;
  open.counts[outcome] = (open.counts[outcome] ?? 0) + 1;
}

/** What came of commands: of their objects as it comes, and of each as a whole at its end. */
export class CommandReports {
  readonly #ports: ExecutorPorts;
  readonly #outbox: ClusterOutbox;
  readonly #metrics: ExecutorMetrics;
  readonly #open = new Map<string, Open>();
  readonly #known: Set<string>;

  /** `answered`: commands that earlier lives of the executor answered. */
  constructor(
    ports: ExecutorPorts,
    outbox: ClusterOutbox,
    metrics: ExecutorMetrics,
    answered: Iterable<string>,
  ) {
    this.#ports = ports;
    this.#outbox = outbox;
    this.#metrics = metrics;
    this.#known = new Set(answered);
  }

  /** Whether a command is being carried out, or was answered. */
  knows(commandId: string): boolean {
    return this.#known.has(commandId);
  }

  /** `earlier`: outcomes that are on the log already. */
  begin(
    received: ReceivedCommand,
    earlier: readonly ClusterObjectOutcome['outcome'][],
    leftOut: Iterable<string>,
  ): void {
    const { command } = received;
    this.#know(command.id);
    const counts = countsOf(earlier);
    const left = command.items.length - earlier.length;
    const open = { received, leftOut: new Set(leftOut), left, counts, untold: [] };
    this.#open.set(command.id, open);
    this.#endIfDone(open);
  }

  settle(order: Order, result: ClusterObjectOutcome): void {
    const { item, attempts, requests, owners, node, command } = order;
    const open = this.#open.get(command.id);
    if (open === undefined) return;
    const { object, rule, act } = item;
    const told: Told = {
      object,
      rule,
      action: act.action,
      ...('ownRule' in act && act.ownRule !== undefined && { ownRule: act.ownRule }),
      attempts,
      requests,
      owners: owners.slice(0, MAX_OWNERS_TOLD).map(({ uid, found }) => ({ uid, found })),
      ...(node !== null && { node: { name: node.name, found: node.found } }),
      result,
    };
    this.#count(act.action, result);
    countIn(open, result);
    open.untold = [...open.untold, told];
    if (open.untold.length >= MOST_OBJECTS) this.#tell(open);
    this.#endIfDone(open);
  }

  #count(action: Told['action'], result: ClusterObjectOutcome): void {
    const { objects, stayed } = this.#metrics;
    objects.add({ action, outcome: result.outcome });
    if ('reason' in result) stayed.add({ outcome: result.outcome, reason: result.reason });
  }

  refuse({ command, trace }: Omit<ReceivedCommand, 'intended'>, { reason, message }: CommandRefused): void {
    const refusal = { reason, message: cut(message) };
    this.#know(command.id);
    this.#metrics.commands.add({ outcome: refusal.reason });
    this.#ports.logger.warn({ commandId: command.id, ...refusal }, 'command refused');
    this.#end(command, trace, { outcome: 'refused', ...refusal });
  }

  /** What announced objects were found to be whose executor ended before it told. */
  settled(
    { commandId, decisionId }: AnnouncedCommand,
    settled: readonly { readonly each: IntendedObject; readonly result: ClusterObjectOutcome }[],
  ): void {
    const all = settled.map(
      ({ each, result }): Told => ({ ...each, attempts: 0, requests: 1, owners: [], result }),
    );
    for (const { action, result } of all) this.#count(action, result);
    for (let from = 0; from < all.length; from += MOST_OBJECTS)
      this.#sendObjects({ id: commandId, decisionId }, null, all.slice(from, from + MOST_OBJECTS));
    const open = this.#open.get(commandId);
    if (open === undefined) return;
    for (const { object, result } of all) if (open.leftOut.delete(object.uid)) countIn(open, result);
    this.#endIfDone(open);
  }

  /** Ends a command that did not come again after its executor ended. */
  endSettled(
    { commandId, decisionId }: AnnouncedCommand,
    outcomes: Iterable<ClusterObjectOutcome['outcome']>,
  ): void {
    this.#know(commandId);
    this.#end({ id: commandId, decisionId }, null, { outcome: 'done', counts: countsOf(outcomes) });
  }

  /** Tells what waits. */
  flush(): void {
    for (const open of this.#open.values()) this.#tell(open);
  }

  #endIfDone(open: Open): void {
    if (open.left > 0) return;
    const { command, trace } = open.received;
    this.#tell(open);
    this.#open.delete(command.id);
    this.#metrics.commands.add({ outcome: 'done' });
    this.#end(command, trace, { outcome: 'done', counts: open.counts });
  }

  #tell(open: Open): void {
    if (open.untold.length === 0) return;
    const { command, trace } = open.received;
    this.#sendObjects(command, trace, open.untold);
    open.untold = [];
  }

  #sendObjects({ id, decisionId }: Named, trace: TraceContext | null, objects: readonly Told[]): void {
    const header = this.#header(id);
    this.#send(trace, {
      type: 'fleetgc.cluster.object-results',
      ...header,
      id: clusterObjectResultsId(header, objects),
      decisionId,
      objects: [...objects],
    });
  }

  #end({ id, decisionId }: Named, trace: TraceContext | null, result: ClusterCommandResult['result']): void {
    const header = this.#header(id);
    this.#send(trace, {
      type: 'fleetgc.cluster.command-result',
      ...header,
      id: clusterCommandResultId(header),
      decisionId,
      result,
    });
  }

  #header(commandId: string) {
    const { identity, executor, connection, nowMs } = this.#ports;
    return { version: 1 as const, ...identity, executor, at: connection.clock.instantAt(nowMs()), commandId };
  }

  #send(trace: TraceContext | null, event: ClusterObjectResults | ClusterCommandResult): void {
    this.#outbox.add({ event, trace });
  }

  #know(commandId: string): void {
    this.#known.add(commandId);
    if (this.#known.size <= MAX_KNOWN) return;
    for (const oldest of this.#known) {
      this.#known.delete(oldest);
      return;
    }
  }
}

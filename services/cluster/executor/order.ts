import type { WorkOutcome } from '../../../packages/kube-api/work-queue.ts';
import type { TraceContext } from '../../../packages/process/trace.ts';
import type { ClusterCommand, ClusterCommandItem } from '../../../schemas/events/cluster-command.ts';
import type { ClusterObjectOutcome, NodeFound, OwnerFound } from '../../../schemas/events/cluster-result.ts';
import type { Failure, Stop } from './checks/stop.ts';

/** What an owner was found to be. */
export interface OwnerEvidence {
  readonly uid: string;
  readonly found: OwnerFound;
}

/** What the node of a pod was found to be. */
export interface NodeEvidence {
  readonly name: string;
  readonly found: NodeFound;
}

/** A command as it came. */
export interface ReceivedCommand {
  readonly command: ClusterCommand;
  readonly trace: TraceContext | null;
  /** The id of the key that signed it, where one did. */
  readonly signedBy: string | null;
  /** By a clock that only grows. */
  readonly receivedAtMs: number;
  /** What this executor is to do of it: of the rest results tell already. */
  readonly intended: readonly ClusterCommandItem[];
}

/** One object of a command, with what was tried so far. */
export class Order {
  readonly received: ReceivedCommand;
  readonly item: ClusterCommandItem;
  attempts = 0;
  requests = 0;
  lastFailure: Failure | null = null;
  /** Why nothing may be done with it for now, or could not since it was tried last. */
  waitedFor: string | null = null;
  /** How a try ended of which nobody knows whether it was done; `null` where there was none. */
  unsure: Failure | null = null;
  /** As they were read last. */
  owners: readonly OwnerEvidence[] = [];
  /** As it was read last, where something follows from the node of a pod. */
  node: NodeEvidence | null = null;
  /** The resourceVersion in which it lies on the event log, to be brought back. */
  savedVersion: string | null = null;
  isInHand = false;
  isSettled = false;

  constructor(received: ReceivedCommand, item: ClusterCommandItem) {
    this.received = received;
    this.item = item;
  }

  get uid(): string {
    return this.item.object.uid;
  }

  /** Its finalizer is to be taken away. */
  get isFinish(): boolean {
    return this.item.act.action === 'finish';
  }

  get command(): ClusterCommand {
    return this.received.command;
  }

  /** Notes why it is not settled; gives back when it is tried again. */
  triedLater(stop: Exclude<Stop, { kind: 'settled' }>): WorkOutcome {
    if (stop.kind === 'waits') {
      this.waitedFor = stop.why;
      return 0;
    }
    this.lastFailure = stop.failure;
    return stop.afterMs ?? 'retry';
  }

  supersededBy({ command }: Order): ClusterObjectOutcome {
    const message = `command ${command.id} named the object before its turn came`;
    return { outcome: 'refused', reason: 'superseded', message };
  }
}

import { clusterIntentId } from '../../../../packages/decision/result-ids.ts';
import { isTooLarge } from '../../../../packages/records/publisher.ts';
import type { ClusterCommandItem } from '../../../../schemas/events/cluster-command.ts';
import type { ClusterCommandIntent, IntendedObject } from '../../../../schemas/events/cluster-intent.ts';
import type { ClusterInstant } from '../../../../schemas/events/cluster-objects.ts';
import type { ClusterIdentity } from '../../../../schemas/events/identity.ts';
import type { ReceivedCommand } from '../order.ts';
import type { Outgoing } from '../results/outbox.ts';

export interface AnnouncementParts {
  readonly identity: ClusterIdentity;
  /** Names this process. */
  readonly executor: string;
  /** When the executor last heard from the API server. */
  readonly at: () => ClusterInstant | null;
  /** Resolves when all of them are acknowledged. */
  readonly publish: (events: readonly Outgoing[]) => Promise<void>;
}

/** Commands that are announced; those of more than an hour ago have long expired. */
const MAX_ANNOUNCED = 100_000;

/**
 * Puts the intent of each command on the event log before its first write, once for all its objects.
 *
 * An executor keeps no journal of its own, so what it did must follow from the log and the API server, wherever it ends:
 *
 * 1. Before the intent is sent: nothing was done. The command is read again, or expires.
 * 2. After the intent is sent, before it is acknowledged: the intent may be on the log, and nothing was done. Settled as unchanged.
 * 3. After the acknowledgement, before the first write: the same.
 * 4. After a write is sent, before the API server carries it out: settled as unchanged, and looked at again when the command has
 *    expired and no request of it can be under way any more. Only then is "unchanged" the last word.
 * 5. After the API server carried it out, before it answers: settled as gone or changed.
 * 6. Between two writes to one object (unblock or mark, then delete): settled as changed.
 * 7. After the answer, before the result is acknowledged: settled as gone or changed.
 * 8. After the results of all objects, before the result of the command: the command is read again and ends, or is ended once it has
 *    expired.
 * 9. While an open intent is settled: it is still open, and the next executor looks again.
 *
 * In all of them another executor may still be at work that this one takes for ended: each write is a compare and swap.
 */
export class Announcements {
  readonly #parts: AnnouncementParts;
  /** By command. A promise that rejected is not kept. */
  readonly #announced = new Map<string, Promise<void>>();

  constructor(parts: AnnouncementParts) {
    this.#parts = parts;
  }

  /** Resolves when the log has acknowledged that this executor begins with the command; at once where it has before. */
  async announce(received: ReceivedCommand): Promise<void> {
    const { id } = received.command;
    const known = this.#announced.get(id);
    if (known !== undefined) return known;
    const announcing = this.#publish(received, received.intended);
    this.#announced.set(id, announcing);
    this.#forgetOldest();
    try {
      await announcing;
    } catch (error) {
      this.#announced.delete(id);
      throw error;
    }
  }

  /** A broker may take less at a time than an intent has. */
  async #publish(received: ReceivedCommand, items: readonly ClusterCommandItem[]): Promise<void> {
    try {
      await this.#parts.publish([this.#intentOf(received, items)]);
    } catch (error) {
      if (!isTooLarge(error) || items.length === 1) throw error;
      const half = Math.ceil(items.length / 2);
      await this.#publish(received, items.slice(0, half));
      await this.#publish(received, items.slice(half));
    }
  }

  #intentOf({ command, trace }: ReceivedCommand, items: readonly ClusterCommandItem[]): Outgoing {
    const { identity, executor, at } = this.#parts;
    const { id: commandId, decisionId, takenAt, lifetimeMs } = command;
    const { clusterInstance } = identity;
    const objects = items.map(intended);
    const event: ClusterCommandIntent = {
      type: 'fleetgc.cluster.command-intent',
      version: 1,
      id: clusterIntentId({ clusterInstance, commandId }, executor, objects),
      ...identity,
      at: at(),
      commandId,
      decisionId,
      executor,
      takenAt,
      lifetimeMs,
      objects,
    };
    return { event, trace };
  }

  #forgetOldest(): void {
    if (this.#announced.size <= MAX_ANNOUNCED) return;
    for (const oldest of this.#announced.keys()) {
      this.#announced.delete(oldest);
      return;
    }
  }
}

const intended = ({ object, rule, act }: ClusterCommandItem): IntendedObject => ({
  object,
  rule,
  action: act.action,
  ...('ownRule' in act && act.ownRule !== undefined && { ownRule: act.ownRule }),
});

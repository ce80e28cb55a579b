import { clusterIntentId } from '../../../packages/decision/result-ids.ts';
import { isTooLarge } from '../../../packages/records/publisher.ts';
import type { ClusterCommandItem } from '../../../schemas/events/cluster-command.ts';
import type { ClusterCommandIntent, IntendedObject } from '../../../schemas/events/cluster-intent.ts';
import type { ClusterInstant } from '../../../schemas/events/cluster-objects.ts';
import { type ClusterObjectOutcome, foundLater } from '../../../schemas/events/cluster-result.ts';
import type { ReceivedCommand } from './order.ts';
import type { ExecutorPorts, Outgoing, ResultEvent } from './ports.ts';

/** Commands that are announced; those of more than an hour ago have long expired. */
const MAX_ANNOUNCED = 100_000;

/**
 * Puts the intent of each command on the event log before its first write, once for all its objects. What that is for if the process
 * ends stands at `ObjectWork`.
 */
export class Announcements {
  readonly #ports: ExecutorPorts;
  /** By command. A promise that rejected is not kept. */
  readonly #announced = new Map<string, Promise<void>>();

  constructor(ports: ExecutorPorts) {
    this.#ports = ports;
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
      await this.#ports.publish([this.#intentOf(received, items)]);
    } catch (error) {
      if (!isTooLarge(error) || items.length === 1) throw error;
      const half = Math.ceil(items.length / 2);
      await this.#publish(received, items.slice(0, half));
      await this.#publish(received, items.slice(half));
    }
  }

  #intentOf({ command, trace }: ReceivedCommand, items: readonly ClusterCommandItem[]): Outgoing {
    const { identity, executor, connection, nowMs } = this.#ports;
    const { id: commandId, decisionId, takenAt, lifetimeMs } = command;
    const { clusterInstance } = identity;
    const objects = items.map(intended);
    const event: ClusterCommandIntent = {
      type: 'fleetgc.cluster.command-intent',
      version: 1,
      id: clusterIntentId({ clusterInstance, commandId }, executor, objects),
      ...identity,
      at: connection.clock.instantAt(nowMs()),
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

type OutcomeName = ClusterObjectOutcome['outcome'];
type Event<Type extends ResultEvent['type']> = Extract<ResultEvent, { type: Type }>;

/** What executors announced for one command, and of which no result tells for sure. */
export interface OpenIntent {
  readonly commandId: string;
  readonly decisionId: string;
  /** Of the command. */
  readonly takenAt: ClusterInstant;
  readonly lifetimeMs: number;
  /** The command has its result. */
  readonly isAnswered: boolean;
  /** By uid. */
  readonly objects: ReadonlyMap<string, IntendedObject>;
  /** By uid, what results tell of the objects of the command. */
  readonly told: ReadonlyMap<string, OutcomeName>;
}

/** @limit Time after its end in which a request of a command can still take effect. */
export const UNDER_WAY_MS = 60_000;

/** By the API server's clock: from then on no executor changes anything for the command. */
export const overAtMs = ({ takenAt, lifetimeMs }: Pick<OpenIntent, 'takenAt' | 'lifetimeMs'>): number =>
  takenAt.serverMs + lifetimeMs + UNDER_WAY_MS;

/** After these it does not matter what another executor still does with the object: it is not in the state in which it was named. */
export const isLastWord = (result: ClusterObjectOutcome): boolean => {
  const found = foundLater(result);
  return found === null ? LAST_WORDS.has(result.outcome) : found !== 'unchanged';
};

const LAST_WORDS: ReadonlySet<OutcomeName> = new Set(['removed', 'accepted', 'patched', 'not-found']);

interface Intents {
  readonly decisionId: string;
  readonly takenAt: ClusterInstant;
  readonly lifetimeMs: number;
  isAnswered: boolean;
  /** By executor, and then by uid. */
  readonly byExecutor: Map<string, Map<string, IntendedObject>>;
}

interface Told {
  readonly executor: string | undefined;
  readonly result: ClusterObjectOutcome;
  readonly serverMs: number | null;
}

/** So many objects are looked at by a later executor; of more than that the log alone tells. */
const MAX_OPEN_OBJECTS = 50_000;

/** Finds out, from intents and results in the order of the log, which intents are open. */
export class OpenIntents {
  /** By command. */
  readonly #intents = new Map<string, Intents>();
  /** By command and uid. */
  readonly #told = new Map<string, Map<string, Told[]>>();

  take(event: ResultEvent): void {
    switch (event.type) {
      case 'fleetgc.cluster.command-intent':
        this.#takeIntent(event);
        break;
      case 'fleetgc.cluster.object-results':
        this.#takeResults(event);
        break;
      case 'fleetgc.cluster.command-result':
        this.#takeEnding(event);
        break;
    }
  }

  open(): readonly OpenIntent[] {
    let left = MAX_OPEN_OBJECTS;
    const open: OpenIntent[] = [];
    for (const [commandId, intents] of this.#intents) {
      const objects = this.#openObjects(commandId, intents);
      if (objects.size === 0 || objects.size > left) continue;
      left -= objects.size;
      const { decisionId, takenAt, lifetimeMs, isAnswered } = intents;
      const told = new Map(
        [...(this.#told.get(commandId) ?? [])].flatMap(([uid, [first]]) =>
          first === undefined ? [] : [[uid, first.result.outcome] as const],
        ),
      );
      open.push({ commandId, decisionId, takenAt, lifetimeMs, isAnswered, objects, told });
    }
    return open;
  }

  #openObjects(commandId: string, { byExecutor, ...of }: Intents): ReadonlyMap<string, IntendedObject> {
    const told = this.#told.get(commandId);
    const isClosedBy = (executor: string, each: Told): boolean =>
      each.executor === executor ||
      isLastWord(each.result) ||
      (each.serverMs !== null && each.serverMs >= overAtMs(of));
    return new Map(
      [...byExecutor].flatMap(([executor, objects]) =>
        [...objects].filter(([uid]) => !(told?.get(uid) ?? []).some((each) => isClosedBy(executor, each))),
      ),
    );
  }

  #takeIntent({ commandId, executor, objects, decisionId, takenAt, lifetimeMs }: Event<IntentType>): void {
    const known = this.#intents.get(commandId);
    const intents = known ?? { decisionId, takenAt, lifetimeMs, isAnswered: false, byExecutor: new Map() };
    this.#intents.set(commandId, intents);
    const announced = intents.byExecutor.get(executor) ?? new Map<string, IntendedObject>();
    for (const each of objects) announced.set(each.object.uid, each);
    intents.byExecutor.set(executor, announced);
  }

  #takeResults({ commandId, executor, objects, at }: Event<'fleetgc.cluster.object-results'>): void {
    const told = this.#told.get(commandId) ?? new Map<string, Told[]>();
    this.#told.set(commandId, told);
    for (const { object, result } of objects) {
      const ofObject = told.get(object.uid) ?? [];
      told.set(object.uid, ofObject);
      ofObject.push({ executor, result, serverMs: at?.serverMs ?? null });
    }
  }

  /** Before it says that a command is done, an executor has told of all its objects. A refusal of what was not read tells of none. */
  #takeEnding({ commandId, executor, result }: Event<'fleetgc.cluster.command-result'>): void {
    const intents = this.#intents.get(commandId);
    if (intents !== undefined) {
      intents.isAnswered = true;
      if (executor !== undefined && result.outcome === 'done') intents.byExecutor.delete(executor);
      if (intents.byExecutor.size === 0) this.#intents.delete(commandId);
    }
    if (!this.#intents.has(commandId)) this.#told.delete(commandId);
  }
}

type IntentType = 'fleetgc.cluster.command-intent';

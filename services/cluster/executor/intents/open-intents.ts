import type { IntendedObject } from '../../../../schemas/events/cluster-intent.ts';
import type { ClusterInstant } from '../../../../schemas/events/cluster-objects.ts';
import { type ClusterObjectOutcome, foundLater } from '../../../../schemas/events/cluster-result.ts';
import type { ResultEvent } from '../results/outbox.ts';

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

/** So long after the end of a command a request of it may be under way. */
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

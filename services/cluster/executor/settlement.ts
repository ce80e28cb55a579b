import pLimit from 'p-limit';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import { hasPath } from '../../../packages/kube-api/resources.ts';
import { backoffMs } from '../../../packages/process/backoff.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { IntendedObject } from '../../../schemas/events/cluster-intent.ts';
import type { ClusterObjectOutcome, FoundLater } from '../../../schemas/events/cluster-result.ts';
import { isLastWord, type OpenIntent, overAtMs } from './intents.ts';
import { LiveReads, type SharedReads } from './live-reads.ts';
import { maySoonBeKnown } from './order.ts';
import type { ExecutorPorts } from './ports.ts';
import type { CommandReports } from './results.ts';

type OutcomeName = ClusterObjectOutcome['outcome'];

interface Beside {
  /** A connection whose requests wait for their turn. */
  readonly paced: () => ApiConnection;
  readonly reads: SharedReads;
  readonly reports: CommandReports;
  /** Is told what an announced object was found to be, when that is told for good. */
  readonly onSettled: (each: IntendedObject, found: FoundLater) => void;
}

/** Objects that are looked at at once; the work of the executor goes on beside. */
const MOST_LOOKS = 4;
const LOOK_BACKOFF = { firstMs: 1_000, mostMs: 30_000 };
/** How soon it is noticed that a command is over. */
const LOOK_EVERY_MS = 1_000;
/** After so many looks in a row at which the API server answered, and did not tell of an object, others do not wait for it. */
const MOST_LOOKS_AWAITED = 3;
/** After so many, once its command is over, the object is reported as unreadable. */
const MOST_LOOKS_AT_END = 20;

/** An open intent while it is settled. */
interface Settling {
  readonly intent: OpenIntent;
  /** By the API server's clock: what is found from then on is final. */
  overAtMs: number;
  readonly objects: Map<string, IntendedObject>;
  readonly told: Map<string, OutcomeName>;
  /** By uid, how many looks in a row the API server answered without telling of the object. */
  readonly unseen: Map<string, number>;
  /** Those for which their command did not wait any longer. */
  readonly leftOut: Set<string>;
  /** Each of the objects was looked at, but for those that are not waited for any more. */
  hasLooked: boolean;
  readonly looked: PromiseWithResolvers<void>;
}

/** What one look at an object came to. `isAnswered`: the API server is there, and it is this object of which it does not tell. */
type Look = { readonly found: FoundLater } | Unseen;
interface Unseen {
  readonly found: null;
  readonly problem: string;
  readonly isAnswered: boolean;
}

/**
 * Settles what earlier executors announced and did not report: looks at each object and tells what it is now. Until its objects were
 * looked at, a command of which an intent is open is neither carried out nor refused. It never writes to the API server.
 *
 * 1. Look at each object that is open. What is gone or changed is told at once, by whom is unknown.
 * 2. What is unchanged is left to its command, which may be carried out or refused from then on.
 * 3. What the API server does not tell of, while it answers otherwise, is left out of the command, whose other objects go on.
 * 4. When the command is over, look once more: an executor that was cut off may have worked on until then. Tell what is unchanged.
 * 5. End the command where it has no result.
 */
export class IntentSettlement {
  readonly #ports: ExecutorPorts;
  readonly #beside: Beside;
  /** By command. */
  readonly #open = new Map<string, Settling>();
  readonly #limit = pLimit(MOST_LOOKS);
  #failures = 0;

  constructor(open: readonly OpenIntent[], ports: ExecutorPorts, beside: Beside) {
    this.#ports = ports;
    this.#beside = beside;
    for (const intent of open) this.add(intent);
  }

  /** Objects that are not settled. */
  get size(): number {
    return [...this.#open.values()].reduce((sum, { objects }) => sum + objects.size, 0);
  }

  /** Of them, those of which the API server does not tell, though it answers. */
  get unseen(): number {
    return [...this.#open.values()].reduce(
      (sum, { objects, leftOut }) => sum + [...leftOut].filter((uid) => objects.has(uid)).length,
      0,
    );
  }

  add(intent: OpenIntent): void {
    if (this.#open.has(intent.commandId)) return;
    this.#open.set(intent.commandId, {
      intent,
      overAtMs: overAtMs(intent),
      objects: new Map(intent.objects),
      told: new Map(intent.told),
      unseen: new Map(),
      leftOut: new Set(),
      hasLooked: false,
      looked: Promise.withResolvers(),
    });
  }

  /** `null` where the command may be taken now; else resolves when it may. */
  looked(commandId: string): Promise<void> | null {
    const settling = this.#open.get(commandId);
    return settling === undefined || settling.hasLooked ? null : settling.looked.promise;
  }

  /** What is told of objects of the command, by uid. */
  outcomes(commandId: string): ReadonlyMap<string, OutcomeName> {
    return this.#open.get(commandId)?.told ?? NOTHING;
  }

  /** Objects of the command of which the API server does not tell, by uid: what they are is told here, when the command is over. */
  leftOut(commandId: string): ReadonlySet<string> {
    return this.#open.get(commandId)?.leftOut ?? NONE;
  }

  /** The command was carried out as far as this object, by this executor. */
  told(commandId: string, uid: string, result: ClusterObjectOutcome): void {
    const settling = this.#open.get(commandId);
    if (settling === undefined) return;
    settling.told.set(uid, result.outcome);
    if (isLastWord(result)) settling.objects.delete(uid);
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { sleep, random } = this.#ports;
    while (!signal.aborted) {
      const due = [...this.#open.values()].filter(
        (settling) => !settling.hasLooked || this.#isOver(settling),
      );
      const results = await Promise.all(due.map((settling) => this.#settle(settling, signal)));
      this.#failures = results.every(Boolean) ? 0 : this.#failures + 1;
      const waitMs =
        this.#failures === 0 ? LOOK_EVERY_MS : backoffMs(LOOK_BACKOFF, this.#failures - 1, random);
      await sleep(waitMs, signal);
    }
  }

  /** Nobody knows what time it is while the API server has not told. */
  #isOver(settling: Settling): boolean {
    const time = this.#ports.connection.clock.at(this.#ports.nowMs());
    if (time === null) return false;
    // What is said to be taken in the future is over no later than what is taken now.
    settling.overAtMs = Math.min(
      settling.overAtMs,
      overAtMs({
        takenAt: { serverMs: time.latestMs, spreadMs: 0 },
        lifetimeMs: settling.intent.lifetimeMs,
      }),
    );
    return time.earliestMs >= settling.overAtMs;
  }

  /** False where some object could not be looked at. */
  async #settle(settling: Settling, signal: AbortSignal): Promise<boolean> {
    // What is found later than this is as final.
    const isFinal = this.#isOver(settling);
    const looks = [...settling.objects.values()].map((each) =>
      this.#limit(async () => ({
        each,
        look: signal.aborted ? ENDED : await this.#look(each.object),
      })),
    );
    const all = await Promise.all(looks);
    if (signal.aborted) return true;
    const told = all.flatMap(({ each, look }) => {
      const found = look.found ?? this.#unlessAwaited(settling, each.object.uid, look, isFinal);
      return found === null || (!isFinal && STAYS_OPEN.has(found)) || !settling.objects.has(each.object.uid)
        ? []
        : [{ each, found, result: unreportedOutcome(found) }];
    });
    this.#beside.reports.settled(settling.intent, told);
    for (const { each, found, result } of told) {
      this.#beside.onSettled(each, found);
      settling.objects.delete(each.object.uid);
      settling.told.set(each.object.uid, settling.told.get(each.object.uid) ?? result.outcome);
    }
    const unseen = all.filter(
      ({ each, look }) => look.found === null && settling.objects.has(each.object.uid),
    );
    if (unseen.every(({ each }) => settling.leftOut.has(each.object.uid))) {
      settling.hasLooked = true;
      settling.looked.resolve();
    }
    if (unseen.length > 0) return false;
    if (isFinal) this.#end(settling);
    return true;
  }

  /** Of what the API server does not tell although it answers: for how long it is looked for, and who waits for it. */
  #unlessAwaited(
    { objects, unseen, leftOut, hasLooked }: Settling,
    uid: string,
    { isAnswered, problem }: Unseen,
    isFinal: boolean,
  ): FoundLater | null {
    const looks = isAnswered ? (unseen.get(uid) ?? 0) + 1 : 0;
    unseen.set(uid, looks);
    if (isFinal && looks >= MOST_LOOKS_AT_END) return 'unreadable';
    // Alone it keeps nothing else waiting, and its command is not answered before anything is known.
    if (hasLooked || looks < MOST_LOOKS_AWAITED || leftOut.has(uid)) return null;
    leftOut.add(uid);
    const facts = { uid, objects: objects.size, problem };
    this.#ports.logger.error(
      facts,
      'an announced object cannot be looked at, so it is left alone and nothing is reported of it',
    );
    return null;
  }

  #end({ intent, told }: Settling): void {
    const { reports } = this.#beside;
    this.#open.delete(intent.commandId);
    if (!intent.isAnswered && !reports.knows(intent.commandId)) reports.endSettled(intent, told.values());
  }

  async #look(object: IntendedObject['object']): Promise<Look> {
    const { paced, reads: shared } = this.#beside;
    const reads = new LiveReads(paced(), shared);
    let isAnswered = false;
    try {
      // Of another cluster nothing follows.
      const other = await reads.otherInstance();
      if (other !== null)
        return { found: null, problem: 'the API server is that of another cluster', isAnswered };
      isAnswered = true;
      const kind = await reads.kinds.of(object);
      if (kind === null || !hasPath(kind, object)) return { found: 'unreadable' };
      const live = await reads.object({ kind, named: object });
      switch (live.kind) {
        case 'absent':
          return { found: 'gone' };
        case 'found':
          if (live.object.uid !== object.uid) return { found: 'gone' };
          return {
            found: live.object.resourceVersion === object.resourceVersion ? 'unchanged' : 'changed',
          };
        case 'unknown':
          return maySoonBeKnown(live) === null
            ? { found: 'unreadable' }
            : { found: null, problem: live.message, isAnswered };
      }
    } catch (thrown) {
      const error = toFleetGcError(thrown);
      if (error.retry) return { found: null, problem: error.message, isAnswered };
      this.#ports.logger.error(
        { uid: object.uid, err: error.cause ?? error },
        'an announced object cannot be read',
      );
      return { found: 'unreadable' };
    }
  }
}

const ENDED: Unseen = { found: null, problem: 'the executor ends', isAnswered: false };
const NONE: ReadonlySet<string> = new Set();
const NOTHING: ReadonlyMap<string, OutcomeName> = new Map();

/** What may still become something else while its command is not over. */
const STAYS_OPEN: ReadonlySet<FoundLater> = new Set(['unchanged', 'unreadable']);

/** As what it is told: what is gone or changed may have been done, and what is unchanged was not. */
const TOLD_AS: Readonly<Record<FoundLater, (message: string) => ClusterObjectOutcome>> = {
  gone: (message) => ({ outcome: 'not-found', message, found: 'gone' }),
  changed: (message) => ({ outcome: 'failed', reason: 'executor-failed', message, found: 'changed' }),
  unchanged: (message) => ({ outcome: 'refused', reason: 'expired', message, found: 'unchanged' }),
  unreadable: (message) => ({ outcome: 'failed', reason: 'api-server-error', message, found: 'unreadable' }),
};

const FOUND: Readonly<Record<FoundLater, string>> = {
  gone: 'it is not there any more, and who removed it is unknown',
  changed: 'it is in another state than the command names, and who changed it is unknown',
  unchanged: 'it is in the state that the command names',
  unreadable: 'the API server does not tell what it is now',
};

const unreportedOutcome = (found: FoundLater): ClusterObjectOutcome =>
  TOLD_AS[found](`the executor that announced it ended before it reported: ${FOUND[found]}`);

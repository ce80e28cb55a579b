import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import type { LabelsAsked } from '../../../packages/kube-api/expiring.ts';
import { listObjects, readStanding } from '../../../packages/kube-api/list.ts';
import { type WatchEnd, type WatchEvent, watchObjects } from '../../../packages/kube-api/watch.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import { backoffMs, type RetryBackoff, type Sleep } from '../../../packages/process/backoff.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import { formOf, isOlder, type ObservedObject } from './observed-object.ts';

/** What becomes of what is read of one kind. */
export interface ReflectorSink {
  beginList(kind: ResourceKind): void;
  listed(kind: ResourceKind, objects: readonly ObservedObject[]): void;
  /** The list was read whole. `isWatched`: what happens after it will be told; else it only looks so (cluster I8). */
  endList(kind: ResourceKind, isWatched: boolean): void;
  /** Of a kind that could only be listed, what happened after its list will be told after all. */
  watched(kind: ResourceKind): void;
  put(kind: ResourceKind, object: ObservedObject): void;
  gone(kind: ResourceKind, object: ObservedObject): void;
  /** It cannot be listed or watched, and why. */
  failed(kind: ResourceKind, reason: string): void;
  /** It stands at an older version than was seen before: the cluster was restored. */
  wentBack(kind: ResourceKind): void;
}

interface ReflectorOptions {
  readonly connection: ApiConnection;
  readonly sink: ReflectorSink;
  readonly sleep: Sleep;
  readonly random: () => number;
  /** Which labels rules of the policy ask for in objects of the kind. */
  readonly labelsAsked: (kind: ResourceKind) => LabelsAsked;
  /** Whether versions of the kind are those of the API server, so that an older one means that the cluster was restored (cluster S3). */
  readonly tellsOfRestore: (kind: ResourceKind) => boolean;
  /** The newest resourceVersion of the kind of which earlier agents told; empty where none did. */
  readonly newestBefore: (kind: ResourceKind) => string;
  /** Told of each watch that the API server ended, and how. */
  readonly onWatchEnded: (kind: ResourceKind, end: WatchEnd) => void;
  /** At most so many lists at once, over all kinds. */
  readonly inTurn: <Result>(list: () => Promise<Result>) => Promise<Result>;
}

/** What keeps a kind from being read, and how long the API server asks to wait. */
interface Problem {
  readonly message: string;
  readonly afterMs: number | null;
}

/**
 * Ends after which a watch goes on from where it was. An API server whose etcd tells no progress is silent about what does not change:
 * that is no reason to list all of it each few minutes.
 */
const GOES_ON: ReadonlySet<WatchEnd['why']> = new Set(['closed', 'silent']);

/**
 * About an hour of silence: a proxy on the way may hold back what happens, and then only a list tells it.
 * @limit Silent watches in a row before a kind is listed again.
 */
const MOST_SILENT_WATCHES = 15;

const HELD_BACK: WatchEnd = {
  why: 'held-back',
  message:
    'it told nothing for an hour, and a list found what it should have told. Something on the way to the API server holds back what comes in pieces: let it pass that on at once, or go around it',
};

const BACKOFF: RetryBackoff = { firstMs: 500, mostMs: 30_000 };

/** Lists and watches one kind until the signal aborts. */
export async function reflect(
  kind: ResourceKind,
  options: ReflectorOptions,
  signal: AbortSignal,
): Promise<void> {
  const one = new Reflector(kind, options, signal);
  while (!signal.aborted) await one.round();
}

class Reflector {
  readonly #kind: ResourceKind;
  readonly #options: ReflectorOptions;
  readonly #signal: AbortSignal;
  /** From where a watch goes on; `null` when only a list can tell. */
  #from: string | null = null;
  /** The newest that was seen of the kind. */
  #newest: string;
  #failures = 0;
  /** Watches one after the other that told nothing. */
  #silentWatches = 0;
  /** Where watches stood that told nothing for long; `null` where none did. */
  #silentFrom: string | null = null;
  /** The API server lets it be listed and not watched. */
  #isWatchRefused = false;
  /** A watch has ended that is to go on from where it was: the cluster may have been restored meanwhile. */
  #isInterrupted = false;

  constructor(kind: ResourceKind, options: ReflectorOptions, signal: AbortSignal) {
    this.#kind = kind;
    this.#options = options;
    this.#signal = signal;
    this.#newest = options.newestBefore(kind);
  }

  async round(): Promise<void> {
    try {
      const problem = this.#from === null ? await this.#list() : await this.#watch(this.#from);
      if (problem !== null) await this.#fail(problem);
    } catch (error) {
      if (this.#signal.aborted) return;
      const foreseen = toFleetGcError(error);
      if (!foreseen.retry) throw foreseen;
      // A watch that broke goes on from where it was.
      this.#isInterrupted = true;
      if (this.#from === null) await this.#fail({ message: foreseen.message, afterMs: null });
      else await this.#pause();
    }
  }

  async #fail({ message, afterMs }: Problem): Promise<void> {
    this.#options.sink.failed(this.#kind, message);
    await this.#pause(afterMs);
  }

  /** No shorter than the API server asks for. */
  async #pause(afterMs: number | null = null): Promise<void> {
    const { sleep, random } = this.#options;
    await sleep(Math.max(backoffMs(BACKOFF, this.#failures++, random), afterMs ?? 0), this.#signal);
  }

  async #list(): Promise<Problem | null> {
    const { connection, sink, inTurn } = this.#options;
    const silentFrom = this.#silentFrom;
    this.#silentFrom = null;
    let isHeldBack = false;
    const listed = (objects: readonly ObservedObject[]): void => {
      isHeldBack ||= silentFrom !== null && objects.some((each) => isOlder(silentFrom, each.resourceVersion));
      sink.listed(this.#kind, objects);
    };
    const outcome = await inTurn(() => {
      sink.beginList(this.#kind);
      return listObjects(connection, this.#what(), listed, this.#signal);
    });
    if (isHeldBack) this.#options.onWatchEnded(this.#kind, HELD_BACK);
    if (outcome.kind === 'incomplete') return outcome;
    const { resourceVersion } = outcome.end;
    if (isOlder(resourceVersion, this.#newest)) this.#wentBack();
    this.#newest = resourceVersion;
    this.#from = resourceVersion;
    this.#isInterrupted = false;
    this.#silentWatches = 0;
    if (!this.#isWatchRefused) this.#failures = 0;
    sink.endList(this.#kind, !this.#isWatchRefused);
    return null;
  }

  /** After what ended it, the next round goes on from the last event, or lists. */
  async #watch(from: string): Promise<Problem | null> {
    const { connection, sleep, random, onWatchEnded } = this.#options;
    if (this.#isInterrupted && !(await this.#isThereStill(from))) return null;
    let events = 0;
    const onEvent = (event: WatchEvent<ObservedObject>): void => {
      events++;
      this.#seen(event);
    };
    const onOpen = (): void => this.#opened();
    const watching = { ...this.#what(), from, onOpen, onEvent, signal: this.#signal, sleep, random };
    const end = await watchObjects(connection, watching);
    onWatchEnded(this.#kind, end);
    this.#isInterrupted = true;
    if (end.why === 'not-now') {
      await this.#pause(end.afterMs);
      return null;
    }
    if (!this.#goesOnAfter(end, events)) this.#listAfter(end, from);
    this.#isWatchRefused = end.why === 'refused' && events === 0;
    if (end.why === 'refused') return { message: end.message, afterMs: null };
    // Silence lasted for minutes: no haste to slow down.
    if (events > 0 || end.why === 'silent') this.#failures = 0;
    else await this.#pause();
    return null;
  }

  #goesOnAfter({ why }: WatchEnd, events: number): boolean {
    this.#silentWatches = why === 'silent' && events === 0 ? this.#silentWatches + 1 : 0;
    return GOES_ON.has(why) && this.#silentWatches < MOST_SILENT_WATCHES;
  }

  #listAfter({ why }: WatchEnd, from: string): void {
    this.#silentFrom = why === 'silent' ? from : null;
    this.#from = null;
  }

  #opened(): void {
    if (this.#isWatchRefused) this.#options.sink.watched(this.#kind);
    this.#isWatchRefused = false;
  }

  /**
   * Whether the API server has come as far as the watch had. A restored one has not, and would tell nothing until it has: then the
   * watch would go on in another history.
   */
  async #isThereStill(from: string): Promise<boolean> {
    const { connection } = this.#options;
    const standing = await readStanding(connection, this.#what(), this.#signal);
    if (standing.why === 'not-now') {
      await this.#pause(standing.afterMs);
      return false;
    }
    const isKnown = standing.why === 'told';
    const isBehind = isKnown && isOlder(standing.resourceVersion, from);
    if (isBehind) this.#wentBack();
    // Only a list can tell.
    if (!isKnown || isBehind) this.#from = null;
    this.#isInterrupted = false;
    return this.#from !== null;
  }

  /** Who serves an aggregated API counts versions on their own, often from 1 at each start: then all that is to do is to list anew. */
  #wentBack(): void {
    const { sink, tellsOfRestore } = this.#options;
    if (tellsOfRestore(this.#kind)) sink.wentBack(this.#kind);
  }

  #what() {
    return { resource: this.#kind, form: formOf(this.#kind, this.#options.labelsAsked(this.#kind)) };
  }

  #seen(event: WatchEvent<ObservedObject>): void {
    const { sink } = this.#options;
    const version = event.kind === 'bookmark' ? event.resourceVersion : event.object.resourceVersion;
    this.#from = version;
    this.#newest = version;
    if (event.kind === 'put') sink.put(this.#kind, event.object);
    if (event.kind === 'gone') sink.gone(this.#kind, event.object);
  }
}

interface Running {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** One reflector for each kind that is watched. */
export class Reflectors {
  readonly #options: ReflectorOptions;
  readonly #onFailure: (error: unknown) => void;
  readonly #running = new Map<ResourceKind, Running>();

  /** `onFailure` hears of what nobody foresaw. */
  constructor(options: ReflectorOptions, onFailure: (error: unknown) => void) {
    this.#options = options;
    this.#onFailure = onFailure;
  }

  start(kind: ResourceKind): void {
    const stop = new AbortController();
    const ended = reflect(kind, this.#options, stop.signal).catch(this.#onFailure);
    this.#running.set(kind, { stop, ended });
  }

  /** Lists a kind anew, by its name, since more or less is read of its objects now. Only when the one before has ended. */
  restart(name: string): void {
    for (const [kind, running] of this.#running) {
      if (kindName(kind) !== name) continue;
      running.stop.abort();
      const stop = new AbortController();
      const ended = running.ended
        .then(() => reflect(kind, this.#options, stop.signal))
        .catch(this.#onFailure);
      this.#running.set(kind, { stop, ended });
    }
  }

  /** Ends those of this resource, in whatever version. */
  stop({ group, resource }: ResourceKind): void {
    for (const [kind, { stop }] of this.#running) {
      if (kind.group !== group || kind.resource !== resource) continue;
      stop.abort();
      this.#running.delete(kind);
    }
  }

  async stopAll(): Promise<void> {
    const running = [...this.#running.values()];
    for (const { stop } of running) stop.abort();
    await Promise.all(running.map(({ ended }) => ended));
  }
}

/** What is read of a kind goes to each of them, in order. */
export const everySink = (sinks: readonly ReflectorSink[]): ReflectorSink => ({
  beginList: (kind) => {
    for (const sink of sinks) sink.beginList(kind);
  },
  listed: (kind, objects) => {
    for (const sink of sinks) sink.listed(kind, objects);
  },
  endList: (kind, isWatched) => {
    for (const sink of sinks) sink.endList(kind, isWatched);
  },
  watched: (kind) => {
    for (const sink of sinks) sink.watched(kind);
  },
  put: (kind, object) => {
    for (const sink of sinks) sink.put(kind, object);
  },
  gone: (kind, object) => {
    for (const sink of sinks) sink.gone(kind, object);
  },
  failed: (kind, reason) => {
    for (const sink of sinks) sink.failed(kind, reason);
  },
  wentBack: (kind) => {
    for (const sink of sinks) sink.wentBack(kind);
  },
});

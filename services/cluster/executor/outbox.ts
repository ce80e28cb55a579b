import { clusterObjectResultsId } from '../../../packages/decision/result-ids.ts';
import { backoffMs } from '../../../packages/process/backoff.ts';
import { FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import { createWakeSignal } from '../../../packages/process/loops.ts';
import { isTooLarge } from '../../../packages/records/publisher.ts';
import type { ClusterObjectOutcome, ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import type { ExecutorPorts, Outgoing, ResultEvent } from './ports.ts';

/** Events of one publish; one of a hundred objects has a tenth of a megabyte. */
const MAX_BATCH = 10;
const PUBLISH_BACKOFF = { firstMs: 200, mostMs: 30_000 };
/** A look without having been woken. */
const LOOK_MS = 60_000;
const LAST_PUBLISH_MS = 2_000;
/** Beyond so many unpublished results no more commands are taken. */
const MAX_UNPUBLISHED = 10_000;

/** @limit Processed objects without a result on the event log. With more, the executor stops. */
const MOST_UNRECORDED_OBJECTS = 200;

/**
 * Results in the order in which they came, until the event log has them. In memory alone: what is lost with the process is settled by
 * the next one, from the intents. None is ever given up.
 */
export class Outbox {
  readonly #ports: ExecutorPorts;
  readonly #woken: ReturnType<typeof createWakeSignal>;
  readonly #waiting: Outgoing[] = [];
  #problem: string | null = null;

  constructor(ports: ExecutorPorts) {
    this.#ports = ports;
    this.#woken = createWakeSignal(ports.sleep);
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(outgoing: Outgoing): void {
    this.#waiting.push(outgoing);
    this.#woken.wake();
  }

  /** Why nothing may be done now that brings more results; `null` where the log takes them. */
  objection(): string | null {
    if (this.#problem !== null) return `earlier results cannot be published: ${this.#problem}`;
    const unrecorded = this.#waiting.reduce((sum, { event }) => sum + objectsIn(event), 0);
    return unrecorded < MOST_UNRECORDED_OBJECTS
      ? null
      : `the results of ${unrecorded} objects are not on the event log yet`;
  }

  /** Throws `LOG_UNREACHABLE` where so many wait that nothing may be done that brings more. */
  requireRoom(): void {
    if (this.size <= MAX_UNPUBLISHED) return;
    throw new FleetGcError(
      'LOG_UNREACHABLE',
      `${MAX_UNPUBLISHED} results wait to be published, so no more commands are taken; look at why the event log does not take them`,
    );
  }

  /** Publishes until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { sleep, random, logger } = this.#ports;
    let failures = 0;
    while (!signal.aborted) {
      const problem = await this.publishNext();
      if (problem === null) failures = 0;
      if (problem === null && this.size === 0) await this.#woken.wait(LOOK_MS, signal);
      if (problem === null) continue;
      if (failures === 0) logger.warn({ problem }, 'results cannot be published, trying again');
      await sleep(backoffMs(PUBLISH_BACKOFF, failures++, random), signal);
    }
  }

  /** A log that does not answer must not keep the process; what it did not take is found out again. */
  async last(running: Promise<void>): Promise<void> {
    const enough = new AbortController();
    const rest = async (): Promise<void> => {
      await running;
      while (this.size > 0 && !enough.signal.aborted) if ((await this.publishNext()) !== null) return;
    };
    await Promise.race([rest(), this.#ports.sleep(LAST_PUBLISH_MS, enough.signal)]);
    enough.abort();
  }

  /** Why it failed; `null` where it did not, or nothing waits. */
  async publishNext(): Promise<string | null> {
    this.#problem = await this.#publish(MAX_BATCH);
    return this.#problem;
  }

  async #publish(most: number): Promise<string | null> {
    const batch = this.#waiting.slice(0, most);
    const [first] = batch;
    if (first === undefined) return null;
    try {
      await this.#ports.publish(batch);
    } catch (thrown) {
      if (!isTooLarge(thrown)) return toFleetGcError(thrown).message;
      if (batch.length > 1) return this.#publish(1);
      const smaller = smallerResults(first.event);
      if (smaller === null) return thrown.message;
      this.#waiting.splice(0, 1, ...smaller.map((event) => ({ ...first, event })));
      return this.#publish(1);
    }
    this.#waiting.splice(0, batch.length);
    return null;
  }
}

const objectsIn = (event: ResultEvent): number =>
  event.type === 'fleetgc.cluster.object-results' ? event.objects.length : 0;

/** Of a message that is cut because the broker takes no longer one. */
const SHORT_MESSAGE_LENGTH = 100;

/**
 * The same results in smaller events, for a broker that takes less than its topic was made for: halves while an event is about several
 * objects, then with a short message and without the hold's facts. `null` where nothing can be left out any more.
 */
function smallerResults(event: ResultEvent): readonly ResultEvent[] | null {
  switch (event.type) {
    case 'fleetgc.cluster.command-intent':
      return null;
    case 'fleetgc.cluster.object-results':
      return event.objects.length > 1 ? halves(event) : shortenedObject(event);
    case 'fleetgc.cluster.command-result': {
      const { result } = event;
      if (result.outcome === 'done' || result.message.length <= SHORT_MESSAGE_LENGTH) return null;
      return [{ ...event, result: { ...result, message: shortened(result.message) } }];
    }
  }
}

function halves(event: ClusterObjectResults): readonly ClusterObjectResults[] {
  const half = Math.ceil(event.objects.length / 2);
  return [event.objects.slice(0, half), event.objects.slice(half)].map((objects) => ({
    ...event,
    id: clusterObjectResultsId(event, objects),
    objects,
  }));
}

function shortenedObject(event: ClusterObjectResults): readonly ClusterObjectResults[] | null {
  const objects = event.objects.map((told) => ({
    ...told,
    owners: [],
    result: shortenedOutcome(told.result),
  }));
  return JSON.stringify(objects).length < JSON.stringify(event.objects).length
    ? [{ ...event, objects }]
    : null;
}

function shortenedOutcome(result: ClusterObjectOutcome): ClusterObjectOutcome {
  if (!('message' in result) || result.message === undefined) return result;
  const short = { ...result, message: shortened(result.message) };
  if (short.outcome !== 'refused') return short;
  const { hold: _, ...refused } = short;
  return refused;
}

const shortened = (message: string): string => message.slice(0, SHORT_MESSAGE_LENGTH).toWellFormed();

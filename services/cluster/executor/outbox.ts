import { clusterObjectResultsId } from '../../../packages/decision/result-ids.ts';
import { createWakeSignal } from '../../../packages/process/loops.ts';
import { requireRoom } from '../../../packages/records/commands.ts';
import { Outbox, SHORT_MESSAGE_LENGTH, shortMessage } from '../../../packages/records/outbox.ts';
import type { ClusterObjectOutcome, ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import type { ExecutorPorts, Outgoing, ResultEvent } from './ports.ts';

/** Events of one publish; one of a hundred objects has a tenth of a megabyte. */
const MAX_BATCH = 10;
/** A look without having been woken. */
const LOOK_MS = 60_000;
/** Beyond so many unpublished results no more commands are taken. */
const MAX_UNPUBLISHED = 10_000;

/** @limit Processed objects without a result on the event log. With more, the executor stops. */
const MOST_UNRECORDED_OBJECTS = 200;

/**
 * Results until the event log has them. In memory alone: what is lost with the process is settled by the next one, from the intents.
 */
export class ClusterOutbox {
  readonly #outbox: Outbox<Outgoing>;
  readonly #woken: ReturnType<typeof createWakeSignal>;
  readonly #waiting: Outgoing[] = [];

  constructor({ publish, sleep, random, logger }: ExecutorPorts) {
    this.#woken = createWakeSignal(sleep);
    this.#outbox = new Outbox({
      results: {
        waiting: () => this.#waiting,
        replaceFirst: (count, by) => void this.#waiting.splice(0, count, ...by),
        changed: (signal) => this.#woken.wait(LOOK_MS, signal),
      },
      send: publish,
      mostAtOnce: MAX_BATCH,
      smaller: ({ trace, event }) => smallerResults(event)?.map((each) => ({ trace, event: each })) ?? null,
      sleep,
      random,
      logger,
    });
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
    const { problem } = this.#outbox;
    if (problem !== null) return `earlier results cannot be published: ${problem}`;
    const unrecorded = this.#waiting.reduce((sum, { event }) => sum + objectsIn(event), 0);
    return unrecorded < MOST_UNRECORDED_OBJECTS
      ? null
      : `the results of ${unrecorded} objects are not on the event log yet`;
  }

  /** Throws `LOG_UNREACHABLE` where so many wait that nothing may be done that brings more. */
  requireRoom(): void {
    requireRoom(this.size, MAX_UNPUBLISHED);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#outbox.run(signal);
  }

  /** What it does not take is found out again. */
  last(running: Promise<void>): Promise<void> {
    return this.#outbox.last(running);
  }
}

const objectsIn = (event: ResultEvent): number =>
  event.type === 'fleetgc.cluster.object-results' ? event.objects.length : 0;

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
      return [{ ...event, result: { ...result, message: shortMessage(result.message) } }];
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
  const short = { ...result, message: shortMessage(result.message) };
  if (short.outcome !== 'refused') return short;
  const { hold: _, ...refused } = short;
  return refused;
}

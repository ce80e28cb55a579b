import type { Logger } from 'pino';
import { backoffMs, type Sleep } from '../../../packages/process/backoff.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { newTrace, nextHop, type TraceContext } from '../../../packages/process/trace.ts';
import { sendSpan } from '../../../packages/records/message-spans.ts';
import { isTooLarge, type Publisher } from '../../../packages/records/publisher.ts';
import { type Journal, published, type Unpublished } from './journal.ts';

/** Events of one publish; each is far below a kilobyte or two. */
const MAX_BATCH = 100;
const PUBLISH_BACKOFF = { firstMs: 200, mostMs: 30_000 };

interface ResultPublishing {
  readonly journal: Journal;
  readonly publisher: Publisher;
  readonly sleep: Sleep;
  readonly random: () => number;
  readonly logger: Logger;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Publishes what the journal holds, in its order, and drops it from there only when the log acknowledged it; until
 * `signal` aborts.
 */
export async function publishResults(parts: ResultPublishing, signal: AbortSignal): Promise<void> {
  const { journal, sleep, random, logger } = parts;
  let failures = 0;
  while (!signal.aborted) {
    if (journal.state().unpublished.length === 0) {
      await journal.changed(signal);
      continue;
    }
    const problem = await publishNext(parts);
    if (problem === null) {
      failures = 0;
      continue;
    }
    if (failures === 0) logger.warn({ problem }, 'results cannot be published, trying again');
    await sleep(backoffMs(PUBLISH_BACKOFF, failures++, random), signal);
  }
}

/** Returns why it failed, or `null`. */
async function publishNext(parts: ResultPublishing, most = MAX_BATCH): Promise<string | null> {
  const { journal } = parts;
  const batch = journal.state().unpublished.slice(0, most);
  try {
    await sendTraced(batch, parts);
  } catch (thrown) {
    if (!isTooLarge(thrown)) return toFleetGcError(thrown).message;
    if (batch.length > 1) return publishNext(parts, 1);
    const [first] = batch;
    const shorter = first === undefined ? null : shortened(first);
    // It stays in the journal, however often the log refuses it.
    if (shorter === null) return thrown.message;
    journal.update((state) => ({ ...state, unpublished: [shorter, ...state.unpublished.slice(1)] }));
    return publishNext(parts, 1);
  }
  journal.update((state) => published(state, batch.length));
  return null;
}

/** Of a message that is cut because the broker takes no longer one. */
const SHORT_MESSAGE_LENGTH = 100;

/** The same event with a short message; `null` where it is short, or there is none. */
function shortened({ trace, output }: Unpublished): Unpublished | null {
  const event = withShortMessage(output.event);
  return event === null ? null : { trace, output: { ...output, event } };
}

type ResultEvent = Unpublished['output']['event'];

function withShortMessage(event: ResultEvent): ResultEvent | null {
  switch (event.type) {
    case 'fleetgc.node.object-result': {
      const result = cutIn(event.result);
      return result && { ...event, result };
    }
    case 'fleetgc.node.command-result': {
      const result = cutIn(event.result);
      return result && { ...event, result };
    }
    case 'fleetgc.node.pass-failed':
      return cutIn(event);
    case 'fleetgc.node.removal-intent':
    case 'fleetgc.node.reclaim-continues':
    case 'fleetgc.node.pressure-unrelieved':
      return null;
  }
}

/** `null` where nothing is to be cut. */
function cutIn<Told extends object>(told: Told): Told | null {
  if (!('message' in told) || typeof told.message !== 'string') return null;
  if (told.message.length <= SHORT_MESSAGE_LENGTH) return null;
  return { ...told, message: cut(told.message) };
}

const cut = (message: string): string => message.slice(0, SHORT_MESSAGE_LENGTH).toWellFormed();

async function sendTraced(
  batch: readonly Unpublished[],
  { publisher, now }: ResultPublishing,
): Promise<void> {
  const { tracer } = publisher;
  const startMs = now();
  const sent = batch.map((event) => ({ ...event, context: contextOf(event, publisher) }));
  await publisher.send(sent.flatMap(({ output, context }) => publisher.records([output], context)));
  if (tracer === null) return;
  const endMs = now();
  for (const { output, context, trace } of sent) {
    if (!isSpanned(output)) continue;
    const { event } = output;
    tracer.record(sendSpan({ topic: 'results', event, context, parent: trace, startMs, endMs }));
  }
}

const contextOf = ({ output, trace }: Unpublished, { ids, tracer }: Publisher): TraceContext => {
  if (trace === null) return newTrace(ids);
  return tracer !== null && isSpanned(output) ? nextHop(trace, ids) : trace;
};

/** A span tells of each object how it went; of what became of the command and its reclaim, that it is on the log. */
const isSpanned = ({ event }: Unpublished['output']): boolean =>
  event.type !== 'fleetgc.node.object-result' && event.type !== 'fleetgc.node.removal-intent';

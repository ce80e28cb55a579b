import type { Logger } from 'pino';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { newTrace, nextHop, type TraceContext } from '../../../packages/process/trace.ts';
import { sendSpan } from '../../../packages/records/message-spans.ts';
import { Outbox, SHORT_MESSAGE_LENGTH, shortMessage } from '../../../packages/records/outbox.ts';
import type { Publisher } from '../../../packages/records/publisher.ts';
import { type Journal, published, type Unpublished } from './journal.ts';

/** Events of one publish; each is far below a kilobyte or two. */
const MAX_BATCH = 100;

interface ResultPublishing {
  readonly publisher: Publisher;
  readonly sleep: Sleep;
  readonly random: () => number;
  readonly logger: Logger;
}

/** Publishes what the journal holds. `now` is in epoch milliseconds. */
export const journalOutbox = (
  journal: Journal,
  { publisher, sleep, random, logger }: ResultPublishing,
  now: () => number,
): Outbox<Unpublished> =>
  new Outbox({
    results: {
      waiting: () => journal.state().unpublished,
      replaceFirst: (count, by) => journal.update((state) => published(state, count, by)),
      changed: (signal) => journal.changed(signal),
    },
    send: (batch) => sendTraced(batch, publisher, now),
    mostAtOnce: MAX_BATCH,
    smaller: (result) => {
      const shorter = shortened(result);
      return shorter === null ? null : [shorter];
    },
    sleep,
    random,
    logger,
  });

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
  return { ...told, message: shortMessage(told.message) };
}

async function sendTraced(
  batch: readonly Unpublished[],
  publisher: Publisher,
  now: () => number,
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

import type { Logger } from 'pino';
import type { OutgoingRecord } from '../../../packages/event-log/port.ts';
import type { Publisher } from '../../../packages/pipeline/publisher.ts';
import { backoffMs, type Sleep } from '../../../packages/process/backoff.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { newTrace } from '../../../packages/process/trace.ts';
import type { Journal } from '../journal/journal.ts';
import { published, type Unpublished } from '../journal/journal-state.ts';

/** Events of one publish; each is far below a kilobyte or two. */
const MAX_BATCH = 100;
const PUBLISH_BACKOFF = { firstMs: 200, mostMs: 30_000 };

interface ResultPublishing {
  readonly journal: Journal;
  readonly publisher: Publisher;
  readonly sleep: Sleep;
  readonly random: () => number;
  readonly logger: Logger;
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
  const { journal, publisher } = parts;
  const batch = journal.state().unpublished.slice(0, most);
  try {
    await publisher.send(batch.flatMap((event) => recordsOf(event, publisher)));
  } catch (thrown) {
    const error = toFleetGcError(thrown);
    if (error.code !== 'LOG_RECORD_TOO_LARGE') return error.message;
    if (batch.length > 1) return publishNext(parts, 1);
    parts.logger.error(
      { problem: error.message, event: batch[0] },
      'a result is given up: the event log can never take it',
    );
  }
  journal.update((state) => published(state, batch.length));
  return null;
}

const recordsOf = ({ output, trace }: Unpublished, { records, ids }: Publisher): readonly OutgoingRecord[] =>
  records([output], trace ?? newTrace(ids));

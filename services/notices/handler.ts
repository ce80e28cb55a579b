import type { Logger } from 'pino';
import type { DeathCount, LogRecord, SliceHandler } from '../../packages/log/port.ts';
import { toFleetGcError } from '../../packages/process/errors.ts';
import { createPeriodicYield } from '../../packages/process/event-loop.ts';
import { sparingly } from '../../packages/process/sparingly.ts';
import type { Sources } from '../../packages/process/system-sources.ts';
import type { ConsumerMetrics } from '../../packages/records/consumer-metrics.ts';
import { isDeadly } from '../../packages/records/dead-letters/crash-marks.ts';
import { mayBeTooCostly } from '../../packages/records/node-decisions.ts';
import { topicIdOf } from '../../packages/records/parse/event-schemas.ts';
import { type ParseRecord, parseBelieved } from '../../packages/records/parse/parse-believed.ts';
import type { Trust } from '../../packages/records/trust/trust.ts';
import { eventType } from '../../schemas/events/envelope.ts';
import type { FleetEvent, TopicId } from '../../schemas/events/topics.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import { noticesOf } from './decide.ts';
import type { ToldOnce } from './memory.ts';
import type { Known, Notice } from './notice.ts';
import type { Replays } from './replays.ts';
import type { Watches } from './watches.ts';

export interface HandlerNeeds {
  readonly trust: Trust;
  readonly told: ToldOnce;
  readonly watches: Watches;
  readonly replays: Pick<Replays, 'has'>;
  /** Those that are active; `null` where nobody follows them. Throws `POLICIES_UNREADABLE`. */
  readonly policies: (() => PolicySetOf<'cluster'>) | null;
  readonly offer: (notices: readonly Notice[], signal: AbortSignal) => Promise<void>;
  readonly counts: Pick<ConsumerMetrics, 'handled' | 'read' | 'done'>;
  readonly logger: Pick<Logger, 'error'>;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow'>;
}

/** Decisions are large, and hardly one of them is told: the others are not parsed. */
const isTold = (topic: TopicId, record: LogRecord): boolean =>
  topic !== 'decisions' || record.headers.ce_type === UNRELIEVED || mayBeTooCostly(record);
const UNRELIEVED = eventType({ type: 'fleetgc.node.pressure-unrelieved', version: 1 });

/** Of messages that cannot be judged; the metric counts all of them. */
const MOST_LINES_A_MINUTE = 6;

/**
 * One slice of the log: what is believed of it becomes notices, and it is done with when each of them was delivered or dropped. What is no
 * event, or not believed, is told to nobody: whoever acts on it makes the dead letter.
 */
export function noticesHandler(needs: HandlerNeeds): SliceHandler {
  const { told, offer, counts, sources, trust, replays } = needs;
  const parse = parseBelieved(trust);
  const mayLog = sparingly(MOST_LINES_A_MINUTE, sources.monotonicNow);
  const yieldToEventLoop = createPeriodicYield(sources.monotonicNow);
  const readAll = async (records: readonly LogRecord[], signal: AbortSignal, inHand: DeathCount) => {
    const read: Read[] = [];
    await inHand.begin();
    try {
      for (const record of records) {
        if (signal.aborted) break;
        const one = readOne(record, { needs, parse, deaths: inHand, mayLog });
        const isReplay =
          one.notices.length > 0 && one.topic === 'policies' && (await replays.has(record, signal));
        read.push(isReplay ? { ...one, notices: [] } : one);
        await yieldToEventLoop();
      }
    } finally {
      await inHand.end();
    }
    return read;
  };
  return async (records, signal, inHand) => {
    const read = await readAll(records, signal, inHand);
    if (signal.aborted) return;
    const notices = read.flatMap((each) => each.notices);
    const news = firstOfEach(notices.filter((notice) => told.isNews(notice)));
    await offer(news, signal);
    if (signal.aborted) return;
    told.told(news);
    for (const { topic, outcome, atMs } of read) counts.done(topic, outcome, sources.now() - atMs);
  };
}

interface Read {
  readonly topic: TopicId;
  readonly atMs: number;
  readonly outcome: Parameters<ConsumerMetrics['done']>[1];
  readonly notices: readonly Notice[];
}

interface Reading {
  readonly needs: HandlerNeeds;
  readonly parse: ParseRecord;
  readonly deaths: DeathCount;
  readonly mayLog: (topic: TopicId) => boolean;
}

function readOne(record: LogRecord, reading: Reading): Read {
  const { needs, deaths } = reading;
  const { counts, sources } = needs;
  const topic = topicIdOf(record.topic);
  const read = { topic, atMs: record.timestampMs };
  counts.read(topic, record.timestampMs);
  if (record.unreadable !== undefined) return { ...read, outcome: 'unreadable-batch', notices: [] };
  if (isDeadly(deaths.deaths)) return { ...read, outcome: 'process-died', notices: [] };
  needs.watches.read(topic, record);
  if (!isTold(topic, record)) return { ...read, outcome: 'processed', notices: [] };
  const beginMs = sources.monotonicNow();
  const judged = judge(record, reading);
  counts.handled(topic, sources.monotonicNow() - beginMs);
  return { ...read, ...judged };
}

/** Throws only what will pass: a `FleetGcError` with `retry`. */
function judge(record: LogRecord, { needs, parse, mayLog }: Reading): Pick<Read, 'outcome' | 'notices'> {
  const topic = topicIdOf(record.topic);
  try {
    const parsed = parse(topic, record);
    return parsed.ok
      ? {
          outcome: 'processed',
          notices: ofEvent(parsed.event, record, {
            watches: needs.watches,
            policies: activePolicies(needs),
            isSigned: parsed.signedBy !== undefined,
          }),
        }
      : { outcome: parsed.rejection.cause, notices: [] };
  } catch (error) {
    if (toFleetGcError(error).retry) throw error;
    if (mayLog(topic)) logFailure(needs.logger, record, error);
    return { outcome: 'handler-failed', notices: [] };
  }
}

/** What one message says may not keep the others away. */
const logFailure = (
  logger: Pick<Logger, 'error'>,
  { topic, partition, offset }: LogRecord,
  error: unknown,
): void =>
  logger.error(
    { err: error, topic, partition, offset: String(offset) },
    'what a message tells could not be found out; nobody is told of it, and the next ones are read',
  );

const ofEvent = (
  event: FleetEvent,
  record: LogRecord,
  { watches, ...known }: Known & { readonly watches: Watches },
): readonly Notice[] => [...watches.heard(event, record), ...noticesOf(event, record.timestampMs, known)];

/** `null` where they cannot be read: agents report what is held again within ten minutes, and other notices go on. */
function activePolicies({ policies }: Pick<HandlerNeeds, 'policies'>): PolicySetOf<'cluster'> | null {
  try {
    return policies?.() ?? null;
  } catch (thrown) {
    if (toFleetGcError(thrown).code === 'POLICIES_UNREADABLE') return null;
    throw thrown;
  }
}

/** Of one slice each id and each key once. */
function firstOfEach(notices: readonly Notice[]): readonly Notice[] {
  const keys = new Set<string>();
  return notices.filter(({ id, onceKey }) => {
    const key = onceKey ?? id;
    const isFirst = !keys.has(key);
    keys.add(key);
    return isFirst;
  });
}

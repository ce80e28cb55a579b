import type { DeathCount, LogRecord, SliceHandler } from '../../packages/event-log/port.ts';
import type { ConsumerMetrics } from '../../packages/pipeline/consumer-metrics.ts';
import { isDeadly } from '../../packages/pipeline/dead-letters/crash-marks.ts';
import { topicIdOf } from '../../packages/pipeline/parse/event-schemas.ts';
import { type ParseRecord, parseBelieved } from '../../packages/pipeline/parse/parse-believed.ts';
import { createPeriodicYield } from '../../packages/process/event-loop.ts';
import type { Sources } from '../../packages/process/system-sources.ts';
import type { Trust } from '../../packages/trust/trust.ts';
import { eventType } from '../../schemas/events/envelope.ts';
import type { FleetEvent, TopicId } from '../../schemas/events/topics.ts';
import { noticesOf } from './decide.ts';
import type { ToldOnce } from './memory.ts';
import type { Notice } from './notice.ts';
import type { Replays } from './replays.ts';
import type { Silence } from './silence.ts';

export interface HandlerNeeds {
  readonly trust: Trust;
  readonly told: ToldOnce;
  readonly silence: Silence;
  readonly replays: Pick<Replays, 'has'>;
  readonly offer: (notices: readonly Notice[], signal: AbortSignal) => Promise<void>;
  readonly counts: Pick<ConsumerMetrics, 'handled' | 'read' | 'done'>;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow'>;
}

/** Decisions are large, and hardly one of them is told: of others no more than the header is looked at. */
const ONLY: { readonly [Id in TopicId]?: string } = {
  decisions: eventType({ type: 'fleetgc.node.pressure-unrelieved', version: 1 }),
};

/**
 * One slice of the log: what is believed of it becomes notices, and it is done with when each of them was delivered or dropped. What is no
 * event, or not believed, is told to nobody: whoever acts on it makes the dead letter.
 */
export function noticesHandler(needs: HandlerNeeds): SliceHandler {
  const { told, offer, counts, sources, trust, replays } = needs;
  const parse = parseBelieved(trust);
  const yieldToEventLoop = createPeriodicYield(sources.monotonicNow);
  const readAll = async (records: readonly LogRecord[], signal: AbortSignal, inHand: DeathCount) => {
    const read: Read[] = [];
    await inHand.begin();
    try {
      for (const record of records) {
        if (signal.aborted) break;
        const one = readOne(record, { needs, parse, deaths: inHand });
        const isReplay =
          one.notices.length > 0 && one.topic === 'policies' && (await replays.has(record, signal));
        read.push(isReplay ? { ...one, notices: [] } : one);
        await yieldToEventLoop();
      }
    } finally {
      inHand.end();
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
}

function readOne(record: LogRecord, { needs, parse, deaths }: Reading): Read {
  const { counts, sources } = needs;
  const topic = topicIdOf(record.topic);
  const read = { topic, atMs: record.timestampMs };
  counts.read(topic, record.timestampMs);
  if (record.unreadable !== undefined) return { ...read, outcome: 'unreadable-batch', notices: [] };
  if (isDeadly(deaths.deaths)) return { ...read, outcome: 'process-died', notices: [] };
  const only = ONLY[topic];
  if (only !== undefined && record.headers.ce_type !== only)
    return { ...read, outcome: 'processed', notices: [] };
  const beginMs = sources.monotonicNow();
  const parsed = parse(topic, record);
  const notices = parsed.ok ? ofEvent(parsed.event, record, needs.silence) : [];
  counts.handled(topic, sources.monotonicNow() - beginMs);
  return { ...read, outcome: parsed.ok ? 'processed' : parsed.rejection.cause, notices };
}

const ofEvent = (
  event: FleetEvent,
  { partition, timestampMs: atMs }: LogRecord,
  silence: Silence,
): readonly Notice[] =>
  event.type === 'fleetgc.node.disk-stats'
    ? silence.heard({ cluster: event.cluster, node: event.node, partition, atMs })
    : noticesOf(event, atMs);

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

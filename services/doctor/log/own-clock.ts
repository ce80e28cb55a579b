import { partitionOf } from '../../../packages/log/partition.ts';
import type { EventLog, LogRecord } from '../../../packages/log/port.ts';
import { DAY_MS } from '../../../packages/process/durations.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';

/** By the clock that may be wrong: one that is ahead by more finds no order, and nobody knows. */
const LOOK_BACK_MS = 3 * DAY_MS;
/** Orders to neighbours lie between those to the node. */
const MOST_RECORDS = 20_000;

const ORDERS = ['observe', 'commands'] as const;
type OrderTopic = (typeof ORDERS)[number];

interface Asked {
  /** `<cluster>/<node>`. */
  readonly key: string;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

/**
 * How far this node's clock was ahead of the log's, in milliseconds, as the newest order to it shows: nothing is ordered before the node
 * told of what it is about. Of a clock that is right it is below 0. `null`: no order of the last three days was found.
 */
export async function aheadByOrders(log: Pick<EventLog, 'read'>, asked: Asked): Promise<number | null> {
  let newest: { readonly atMs: number; readonly aheadMs: number } | null = null;
  for (const topic of ORDERS)
    for await (const record of ordersTo(log, topic, asked)) {
      const parsed = parseRecord(topic, record);
      const atMs = record.timestampMs;
      if (parsed.ok && atMs >= (newest?.atMs ?? 0))
        newest = { atMs, aheadMs: parsed.event.takenAt.wallTimeMs - atMs };
    }
  return newest?.aheadMs ?? null;
}

async function* ordersTo(
  log: Pick<EventLog, 'read'>,
  topic: OrderTopic,
  { key, nowMs, signal }: Asked,
): AsyncGenerator<LogRecord> {
  const { name } = TOPICS[topic];
  const from = { timestampMs: nowMs - LOOK_BACK_MS };
  let records = 0;
  for await (const event of log.read(
    { topic: name, partition: partitionOf(name, key), from, to: 'end' },
    signal,
  )) {
    records += 1;
    if (records > MOST_RECORDS) return;
    if (event.kind === 'record' && event.record.key === key) yield event.record;
  }
}

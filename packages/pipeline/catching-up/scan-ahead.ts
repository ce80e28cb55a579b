import type { EventOf } from '../../../schemas/events/topics.ts';
import { overtakes } from '../../decision/overtaking.ts';
import type { EventLog, LogRecord } from '../../event-log/port.ts';
import { parseRecord } from '../parse/parse-record.ts';
import {
  type Newer,
  newerOf,
  type OvertakableTopic,
  overtakableTopic,
  withoutLists,
} from './newer-messages.ts';

/** The backlog of one partition: the records from `from` up to, not including, `end`. */
export interface Backlog {
  readonly topic: LogRecord['topic'];
  readonly partition: number;
  readonly from: bigint;
  readonly end: bigint;
}

export interface Scanning {
  readonly log: Pick<EventLog, 'read'>;
  /** To be awaited between pieces of work. */
  readonly breathe: () => Promise<void>;
}

/** By key, the newest message there that was read whole and may overtake others. */
export type FoundAhead = ReadonlyMap<string, Newer>;

/**
 * Which parts of the backlog are read ahead, from its end, each before the last one. Where nodes have come twice by then, nearly all
 * were seen; where even the last part brings new ones, little can be passed over, and no more is read in vain.
 */
const PARTS = [32n, 16n, 8n, 4n] as const;
/** Where so many of the records of a part are of nodes that were not seen before, more such nodes lie before it. */
const MOSTLY_NEW = 0.75;
/** Less than 1 kB each, so 2 MB a partition at most; nodes beyond that are looked for in slices alone. */
const MAX_FOUND = 2048;

/** Reads the end of a backlog ahead of its turn. Throws `INTERRUPTED` when the signal aborts. */
export async function scanAhead(
  { from, end, ...place }: Backlog,
  scanning: Scanning,
  signal: AbortSignal,
): Promise<FoundAhead> {
  const found = new Map<string, Newer>();
  let before = end;
  for (const part of PARTS) {
    const begin = end - (end - from) / part;
    const seen = found.size;
    const records = await scanPart({ ...place, from: begin, end: before }, scanning, { found, signal });
    if (found.size - seen < MOSTLY_NEW * records) break;
    before = begin;
  }
  return found;
}

interface Finding {
  readonly found: Map<string, Newer>;
  readonly signal: AbortSignal;
}

/** Resolves to the number of its records. */
async function scanPart(
  { topic, partition, from, end }: Backlog,
  { log, breathe }: Scanning,
  { found, signal }: Finding,
): Promise<number> {
  const later = new Set(found.keys());
  let records = 0;
  const request = { topic, partition, from: { offset: from }, to: { before: end } } as const;
  for await (const event of log.read(request, signal)) {
    if (event.kind !== 'record') continue;
    records += 1;
    if (!later.has(event.record.key ?? '')) note(event.record, found);
    await breathe();
  }
  return records;
}

function note(record: LogRecord, found: Map<string, Newer>): void {
  const topic = overtakableTopic(record);
  const { key } = record;
  if (topic === null || key === null) return;
  const known = found.get(key);
  if (known === undefined && found.size >= MAX_FOUND) return;
  const parsed = parseRecord(topic, record);
  if (!parsed.ok || !isPlainLook(parsed.event)) return;
  const newer = newerOf(record, withoutLists(parsed.event));
  // An old message that was put back lies behind the newest one.
  if (known === undefined || !overtakes(known.event, newer.event)) found.set(key, newer);
}

/** Answers to orders are overtaken by another answer to the same alone, and that does not come much later. */
const isPlainLook = (event: EventOf<OvertakableTopic>): boolean =>
  event.type === 'fleetgc.node.disk-stats' || (event.status === 'complete' && event.reclaim === null);

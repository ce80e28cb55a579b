import pLimit from 'p-limit';
import type { Logger } from 'pino';
import type { EventOf } from '../../../schemas/events/topics.ts';
import { overtakes } from '../../decision/overtaking.ts';
import type { EventLog, LogRecord, SubscriptionState } from '../../log/port.ts';
import { toFleetGcError } from '../../process/errors.ts';
import type { ParseRecord } from '../parse/parse-believed.ts';
import {
  type Ahead,
  type Newer,
  NOTHING_AHEAD,
  newerOf,
  type OvertakableTopic,
  overtakableTopic,
  withoutLists,
} from './slice-look-ahead.ts';

/** With no more than this behind a slice hardly any node comes twice, or all is soon done anyway. */
const LONG_BACKLOG_RECORDS = 128;

export interface BacklogLookAheadSettings {
  readonly log: Pick<EventLog, 'read'>;
  readonly state: () => Promise<Pick<SubscriptionState, 'lag' | 'assigned'>>;
  readonly logger: Logger;
  readonly parse: ParseRecord;
  /** To be awaited between pieces of work. */
  readonly yieldToEventLoop: () => Promise<void>;
}

/** What lies far behind a slice, asked before the slice is handled. Never rejects: then nothing is known. */
export type BacklogLookAhead = (slice: readonly LogRecord[], signal: AbortSignal) => Promise<Ahead>;

interface Scan extends Backlog {
  readonly found: FoundAhead;
  /** The first offset of the last slice that asked. */
  reached: bigint;
}

/**
 * Where a service starts or returns with a backlog, a slice holds but a few of the messages behind it. So the end of the backlog is read
 * ahead once per partition, one partition after another. What was found there serves all slices before it.
 */
export function createBacklogLookAhead({
  log,
  state,
  logger,
  parse,
  yieldToEventLoop,
}: BacklogLookAheadSettings): BacklogLookAhead {
  const scans = new Map<string, Scan>();
  const inTurn = pLimit(1);

  async function scan(name: string, backlog: Backlog, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { assigned } = await state();
    for (const other of scans.keys()) if (!assigned.includes(other)) scans.delete(other);
    const found = await scanAhead(backlog, { log, parse, yieldToEventLoop }, signal).catch(
      (error): FoundAhead => {
        if (!signal.aborted)
          logger.warn({ err: toFleetGcError(error) }, `${name}: nothing is passed over that lies far behind`);
        return new Map();
      },
    );
    if (!signal.aborted) scans.set(name, { ...backlog, found, reached: backlog.from });
  }

  /** What was found behind this slice, looked for where nothing is known and much lies there. */
  async function scanFor({ first, last }: SliceEnds, signal: AbortSignal): Promise<Scan | undefined> {
    const { topic, partition, offset } = first;
    const name = `${topic}/${partition}`;
    const known = scans.get(name);
    if (known !== undefined && covers(known, { first, last })) return known;
    scans.delete(name);
    const end = offset + BigInt((await state()).lag.get(name) ?? 0);
    const from = last.offset + 1n;
    if (end - from <= LONG_BACKLOG_RECORDS) return undefined;
    await inTurn(() => scan(name, { topic, partition, from, end }, signal));
    return scans.get(name);
  }

  return async (slice, signal) => {
    const [first] = slice;
    const last = slice.at(-1);
    if (first === undefined || last === undefined || overtakableTopic(first) === null) return NOTHING_AHEAD;
    const known = await scanFor({ first, last }, signal);
    if (known === undefined) return NOTHING_AHEAD;
    known.reached = first.offset;
    return (key) => known.found.get(key ?? '') ?? null;
  };
}

interface SliceEnds {
  readonly first: LogRecord;
  readonly last: LogRecord;
}

/** A partition that goes back to before the last slice was created anew: what was found is not there. */
const covers = ({ reached, end }: Scan, { first, last }: SliceEnds): boolean =>
  reached <= first.offset && last.offset < end;

/** The backlog of one partition: the records from `from` up to, not including, `end`. */
interface Backlog {
  readonly topic: LogRecord['topic'];
  readonly partition: number;
  readonly from: bigint;
  readonly end: bigint;
}

interface Scanning {
  readonly log: Pick<EventLog, 'read'>;
  readonly parse: ParseRecord;
  /** To be awaited between pieces of work. */
  readonly yieldToEventLoop: () => Promise<void>;
}

/** By key, the newest message there that was read whole and may overtake others. */
type FoundAhead = ReadonlyMap<string, Newer>;

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
  { log, parse, yieldToEventLoop }: Scanning,
  { found, signal }: Finding,
): Promise<number> {
  const later = new Set(found.keys());
  let records = 0;
  const request = { topic, partition, from: { offset: from }, to: { before: end } } as const;
  for await (const event of log.read(request, signal)) {
    if (event.kind !== 'record') continue;
    records += 1;
    if (!later.has(event.record.key ?? '')) note(event.record, parse, found);
    await yieldToEventLoop();
  }
  return records;
}

function note(record: LogRecord, parse: ParseRecord, found: Map<string, Newer>): void {
  const topic = overtakableTopic(record);
  const { key } = record;
  if (topic === null || key === null) return;
  const known = found.get(key);
  if (known === undefined && found.size >= MAX_FOUND) return;
  const parsed = parse(topic, record);
  if (!parsed.ok || !isPlainLook(parsed.event)) return;
  const newer = newerOf(record, withoutLists(parsed.event));
  // An old message that was put back lies behind the newest one.
  if (known === undefined || !overtakes(known.event, newer.event)) found.set(key, newer);
}

/** Answers to orders are overtaken by another answer to the same alone, and that does not come much later. */
const isPlainLook = (event: EventOf<OvertakableTopic>): boolean =>
  event.type === 'fleetgc.node.disk-stats' || (event.status === 'complete' && event.reclaim === null);

import pLimit from 'p-limit';
import type { Logger } from 'pino';
import type { MessageReference } from '../../schemas/events/decision-parts.ts';
import { DiskStatsHead } from '../../schemas/events/disk-stats.ts';
import { InventoryHead } from '../../schemas/events/inventory.ts';
import type { EventOf, FleetEvent } from '../../schemas/events/topics.ts';
import { type EventHead, type NewerEvent, overtakes } from '../decision/overtaking.ts';
import type { LogReader, LogRecord, SubscriptionState } from '../log/port.ts';
import { toFleetGcError } from '../process/errors.ts';
import type { ParseRecord } from './parse/parse-believed.ts';
import { type HEADS, parseHead } from './parse/parse-head.ts';
import { type ParsedRecord, topicIdOf } from './parse/parse-record.ts';

/** A message that is to be passed over, and the newer one. */
export interface Overtaken {
  readonly kind: 'overtaken';
  readonly record: LogRecord;
  readonly head: EventHead;
  readonly overtakenBy: MessageReference;
}

/** What a record is: one that is passed over, or one that was read whole, once. */
export type Seen =
  | Overtaken
  | { readonly kind: 'read'; readonly record: LogRecord; readonly parsed: ParsedRecord<FleetEvent> };

/** Tells what a record of the slice is; asked once for each, in their order. */
export type LookAhead = (record: LogRecord) => Seen;

/** What is known to lie behind a slice in its partition, by key. */
export type Ahead = (key: string | null) => Newer | null;

export const NOTHING_AHEAD: Ahead = () => null;

/** Each record by itself. */
export const readAlone =
  (parse: ParseRecord): LookAhead =>
  (record) => ({ kind: 'read', record, parsed: parse(topicIdOf(record.topic), record) });

/**
 * Looks in consecutive records of one partition for messages that later ones of their node overtake, in the slice or ahead of it.
 * Nothing is read before its node's first turn.
 */
export function lookAhead(
  records: readonly LogRecord[],
  parse: ParseRecord,
  ahead: Ahead = NOTHING_AHEAD,
): LookAhead {
  const unseen = Map.groupBy(records, ({ key }) => key);
  const seen = new Map<LogRecord, Seen>();
  return (record) => {
    const topic = overtakableTopic(record);
    const ofNode = unseen.get(record.key) ?? [];
    unseen.delete(record.key);
    const far = ahead(record.key);
    if (topic !== null && (ofNode.length > 1 || far !== null))
      for (const one of lookThrough(topic, ofNode, { parse, far })) seen.set(one.record, one);
    const found = seen.get(record) ?? readAlone(parse)(record);
    seen.delete(record);
    return found;
  };
}

interface Looking {
  readonly parse: ParseRecord;
  /** The newest that lies behind these records. */
  readonly far: Newer | null;
}

/**
 * From the newest back: each is overtaken by the newest of those behind it that can, or read. Where by their heads none can
 * overtake another, nothing is said: to read them all at once would only hold them in memory until their turns.
 */
function lookThrough(
  topic: OvertakableTopic,
  records: readonly LogRecord[],
  { parse, far }: Looking,
): readonly Seen[] {
  const heads = records.map((record) => ({ record, head: parseHead(topic, record) })).toReversed();
  if (!mayOvertake(heads, far)) return [];
  const newest: Newer[] = far === null ? [] : [far];
  return heads.map((head) => {
    const overtaken = overtakenBy(newest, head);
    if (overtaken !== null) return overtaken;
    const { record } = head;
    const parsed = parse(topic, record);
    if (parsed.ok) newest.push(newerOf(record, parsed.event));
    return { kind: 'read', record, parsed };
  });
}

interface RecordHead {
  readonly record: LogRecord;
  /** `null` where it cannot be told. */
  readonly head: EventHead | null;
}

function mayOvertake(newestFirst: readonly RecordHead[], far: Newer | null): boolean {
  const newer: NewerEvent[] = far === null ? [] : [far.event];
  for (const { head } of newestFirst) {
    if (head === null || newer.some((event) => overtakes(event, head))) return true;
    newer.push(head.type === 'fleetgc.node.inventory' ? { ...head, status: 'complete' } : head);
  }
  return false;
}

function overtakenBy(newest: readonly Newer[], { record, head }: RecordHead): Overtaken | null {
  const newer = head && firstToOvertake(newest, record, head);
  return newer ? { kind: 'overtaken', record, head, overtakenBy: newer.reference } : null;
}

type OvertakableTopic = keyof typeof HEADS;

/** A message that was read whole, as much of it as it takes to say what it overtakes. */
interface Newer {
  readonly event: NewerEvent;
  readonly reference: MessageReference;
}

/** The topic of a record that can be overtaken. What has no key is of no node. */
function overtakableTopic({ topic, key }: Pick<LogRecord, 'topic' | 'key'>): OvertakableTopic | null {
  const id = topicIdOf(topic);
  return key !== null && (id === 'inventory' || id === 'diskStats') ? id : null;
}

/** Without its lists, which are not to be remembered. */
const withoutLists = (event: EventOf<OvertakableTopic>): NewerEvent =>
  event.type === 'fleetgc.node.inventory'
    ? { ...InventoryHead.parse(event), status: event.status }
    : DiskStatsHead.parse(event);

const newerOf = ({ topic, partition, offset }: LogRecord, event: NewerEvent): Newer => ({
  event,
  reference: { topic, partition, offset: String(offset), id: event.id },
});

/** The first of them that lies behind the record and overtakes it. */
const firstToOvertake = (
  newer: readonly Newer[],
  { offset }: LogRecord,
  head: EventHead,
): Newer | undefined =>
  newer.find(({ event, reference }) => BigInt(reference.offset) > offset && overtakes(event, head));

/**
 * With no more than this behind a slice hardly any node comes twice, or all is soon done anyway.
 * @limit Backlog from which on superseded messages are skipped.
 */
const LONG_BACKLOG_RECORDS = 128;

interface BacklogLookAheadSettings {
  readonly log: LogReader;
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
  readonly log: LogReader;
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

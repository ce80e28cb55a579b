import pLimit from 'p-limit';
import type { Logger } from 'pino';
import type { EventLog, LogRecord, SubscriptionState } from '../../event-log/port.ts';
import { toFleetGcError } from '../../process/errors.ts';
import { type Ahead, NOTHING_AHEAD } from './look-ahead.ts';
import { overtakableTopic } from './newer-messages.ts';
import { type Backlog, type FoundAhead, scanAhead } from './scan-ahead.ts';

/** With no more than this behind a slice hardly any node comes twice, or all is soon done anyway. */
const FAR_LOOK_RECORDS = 128;

export interface FarLookSettings {
  readonly log: Pick<EventLog, 'read'>;
  readonly state: () => Promise<Pick<SubscriptionState, 'lag' | 'assigned'>>;
  readonly logger: Logger;
  /** To be awaited between pieces of work. */
  readonly breathe: () => Promise<void>;
}

/** What lies far behind a slice, asked before the slice is handled. Never rejects: then nothing is known. */
export type FarLook = (slice: readonly LogRecord[], signal: AbortSignal) => Promise<Ahead>;

interface Scan extends Backlog {
  readonly found: FoundAhead;
  /** The first offset of the last slice that asked. */
  reached: bigint;
}

/**
 * Where a service starts or returns with a backlog, a slice holds but a few of the messages behind it. So the end of the backlog is read
 * ahead once per partition, one partition after another. What was found there serves all slices before it.
 */
export function createFarLook({ log, state, logger, breathe }: FarLookSettings): FarLook {
  const scans = new Map<string, Scan>();
  const inTurn = pLimit(1);

  async function scan(name: string, backlog: Backlog, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { assigned } = await state();
    for (const other of scans.keys()) if (!assigned.includes(other)) scans.delete(other);
    const found = await scanAhead(backlog, { log, breathe }, signal).catch((error): FoundAhead => {
      if (!signal.aborted)
        logger.warn({ err: toFleetGcError(error) }, `${name}: nothing is passed over that lies far behind`);
      return new Map();
    });
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
    if (end - from <= FAR_LOOK_RECORDS) return undefined;
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

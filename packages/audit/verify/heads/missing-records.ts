import { TOPICS } from '../../../../schemas/events/topics.ts';
import type { EventLog, LogRecord } from '../../../log/port.ts';
import { counted } from '../../../text/counted.ts';
import { placeOf } from '../../events/log-position.ts';
import { readWholeTopic } from '../../events/reading.ts';
import type { Deviation } from '../findings.ts';

type Log = Pick<EventLog, 'read'>;

/** Topics that are kept for ever and never compacted: an offset that is missing was taken away. */
const LASTING = {
  keys: { kind: 'statement-missing', what: 'a statement about a key' },
  heads: { kind: 'head-missing', what: 'a head' },
} as const;

/** Offsets that are missing before the last record of the topic. Of what was cut off its end nothing is known here. */
export async function* missingRecords(
  log: Log,
  topicId: keyof typeof LASTING,
  signal: AbortSignal,
): AsyncGenerator<Deviation, void> {
  const { kind, what } = LASTING[topicId];
  let next = 0n;
  for await (const record of readWholeTopic(log, topicId, signal)) {
    const missing = record.offset - next;
    next = record.offset + 1n;
    if (missing > 0n)
      yield {
        kind,
        message: `${counted(missing, 'record')} of ${TOPICS[topicId].name} before this one ${missing === 1n ? 'is' : 'are'} not there: ${what} may be among them`,
        node: null,
        places: [placeOf(record)],
      };
  }
}

/** Heads that the archive has, and the log that it was made of does not, where they lay and as they were. Both are in order. */
export async function* headsGone(
  { archive, living }: { readonly archive: Log; readonly living: Log },
  signal: AbortSignal,
): AsyncGenerator<Deviation, void> {
  const there = readWholeTopic(living, 'heads', signal);
  let gone = 0;
  let first: LogRecord | null = null;
  try {
    let next = await there.next();
    for await (const copy of readWholeTopic(archive, 'heads', signal)) {
      while (!next.done && next.value.offset < copy.offset) next = await there.next();
      if (!next.done && isSame(next.value, copy)) continue;
      gone += 1;
      first ??= copy;
    }
  } finally {
    await there.return();
  }
  if (first !== null) yield goneFromLog(gone, first);
}

const SIGNED_BY = ['ce_fleetgckeyid', 'ce_fleetgcsignature'] as const;

const isSame = (one: LogRecord, other: LogRecord): boolean =>
  one.offset === other.offset &&
  one.timestampMs === other.timestampMs &&
  one.key === other.key &&
  SIGNED_BY.every((name) => one.headers[name] === other.headers[name]) &&
  Buffer.compare(one.value ?? NOTHING, other.value ?? NOTHING) === 0;

const NOTHING = Buffer.alloc(0);

const goneFromLog = (gone: number, first: LogRecord): Deviation => ({
  kind: 'head-missing',
  message: `${counted(gone, 'head')} that the archive copied from the event log ${gone === 1 ? 'does' : 'do'} not lie there as ${gone === 1 ? 'it' : 'they'} did; the first is this one`,
  node: null,
  places: [placeOf(first)],
});

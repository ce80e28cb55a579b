import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import type { EventLog } from '../log/port.ts';
import { HOUR_MS } from '../process/durations.ts';
import { type BelievedHeads, headsOf } from '../records/read-heads.ts';
import { counted } from '../text/counted.ts';
import { archivedHead, isOfArchive, standingOf } from './archived-head.ts';
import { comparedWithLog, isOfRecords } from './compare-with-log.ts';
import type { ManifestLine } from './manifest-entry.ts';
import type { ArchivePlace } from './store/place.ts';

type Log = Pick<EventLog, 'read'>;

export interface FoundArchive {
  readonly place: ArchivePlace;
  /** All lines of the manifest by now. */
  readonly lines: readonly ManifestLine[];
  /** So many of them were there when the archiver opened the archive; what came since it has written itself. */
  readonly found: number;
}

interface Asked {
  readonly log: Log;
  readonly roots: TrustRoots;
  /** What nobody can compare any more is signed, too; what is otherwise on the log never is. */
  readonly signsFound: boolean;
}

/**
 * Why an archiver does not sign what it found in its archive, in a sentence; `null` where it may. Whoever can write there might else
 * have it sign whatever he likes: lines that a head on the log names are as they were, and all others have to be what the log has.
 */
export async function objectionToFound(
  { place, lines, found }: FoundArchive,
  { log, roots, signsFound }: Asked,
  signal: AbortSignal,
): Promise<string | null> {
  const proved = await provedLines(lines, headsOf(log, roots), signal);
  if (proved === 'contradicted')
    return 'it is not what was signed of it before: "fleetgc audit verify --heads-of" says where';
  const unproved = lines.slice(proved, found).filter(isOfRecords);
  if (unproved.length === 0) return null;
  const { other, gone } = await comparedWithLog(place, unproved, log, signal);
  const which = `it has ${counted(unproved.length, 'line')} from before that no head on the event log names`;
  if (other !== null)
    return `${which}, and ${other} is not what the event log has there: somebody changed the archive, and nobody should sign it. Begin another one`;
  if (gone === null || signsFound) return null;
  return `${which}, and the event log has ${gone} no more. If you know that nobody else wrote to the archive, sign it once with --sign-found`;
}

/** A head tells when it was signed by the clock of the archiver; the log may be so much behind. */
const SIGNED_EARLIER_MS = HOUR_MS;

/** How many lines the newest head on the log proves; 0 where there is none of this archive. */
async function provedLines(
  lines: readonly ManifestLine[],
  heads: BelievedHeads,
  signal: AbortSignal,
): Promise<number | 'contradicted'> {
  const { trust } = await heads.known(signal);
  const at = lines.findLastIndex(({ kind }) => kind === 'head');
  const newest = archivedHead(lines[at], at, trust);
  const proved =
    newest === null
      ? 0
      : await provedSince({ timestampMs: newest.signedAtMs - SIGNED_EARLIER_MS }, lines, heads, signal);
  return proved === 0 ? await provedSince('earliest', lines, heads, signal) : proved;
}

async function provedSince(
  from: 'earliest' | { readonly timestampMs: number },
  lines: readonly ManifestLine[],
  heads: BelievedHeads,
  signal: AbortSignal,
): Promise<number | 'contradicted'> {
  let proved = 0;
  for await (const { event } of heads.read(from, signal)) {
    if (event.type !== 'fleetgc.archive-head' || !isOfArchive(event, lines)) continue;
    if (standingOf(event, lines) !== 'right') return 'contradicted';
    proved = Math.max(proved, event.lines);
  }
  return proved;
}

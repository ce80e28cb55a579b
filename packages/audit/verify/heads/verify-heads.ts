import type { TrustRoots } from '../../../../schemas/keys/trust-roots.ts';
import { isToBeSigned } from '../../../archive/heads.ts';
import type { ManifestLine } from '../../../archive/manifest.ts';
import type { EventLog } from '../../../log/port.ts';
import { headsOf } from '../../../records/read-heads.ts';
import { counted } from '../../../text/counted.ts';
import { createCollector, type Found } from '../collected-findings.ts';
import type { Deviation } from '../findings.ts';
import { ArchiveHeadsCheck, type ArchiveHeadsFound } from './archive-heads.ts';
import { headsGone, missingRecords } from './missing-records.ts';
import { unsaid } from './missing-statements.ts';
import { OwnHeads } from './own-heads.ts';

export interface ArchiveHeadsSummary {
  readonly lines: number;
  readonly provedLines: number;
  /** Without a log that still lives the heads in the archive are taken at their word: whoever made it anew may have left some out. */
  readonly isComparedWithLog: boolean;
}

/** What an archive, and what decisions have of heads. */
export interface HeadsSummary {
  /** `null` where no archive was read. */
  readonly archive: ArchiveHeadsSummary | null;
  readonly decisionHeads: number;
}

export interface VerifiedHeads {
  readonly found: Found;
  readonly heads: HeadsSummary;
}

export interface HeadsNeeds {
  /** What is verified. */
  readonly log: Pick<EventLog, 'read'>;
  /** Of an archive its manifest. */
  readonly lines: readonly ManifestLine[] | null;
  /** The log that still lives, whose heads whoever has the archive cannot take away; `null` where nobody names it. */
  readonly living: Pick<EventLog, 'read'> | null;
  readonly roots: TrustRoots;
  /** Whether it is a fault to have none. */
  readonly areRequired: boolean;
  /** Since when decisions are compared with heads, epoch milliseconds. */
  readonly comparedFromMs: number;
}

/** What signed heads say of the archive, and of statements about keys; of decisions partitions are compared one by one. */
export async function verifyHeads(needs: HeadsNeeds, signal: AbortSignal): Promise<VerifiedHeads> {
  const { deviation, gap, found } = createCollector();
  const own = await readOwn(needs, signal);
  const archive = await ofArchive(needs, signal);
  for (const one of archive?.deviations ?? []) deviation(one);
  for (const one of [...(archive?.gaps ?? []), ...own.outOfTime()]) gap(one);
  for await (const one of missingFromTopics(needs, signal)) deviation(one);
  for await (const one of unsaid(needs.log, own, signal)) deviation(one);
  for (const one of needs.areRequired ? withoutHeads(archive, needs, own) : []) deviation(one);
  return {
    found: found(),
    heads: { archive: archive && summaryOf(archive, needs), decisionHeads: own.decisionHeads },
  };
}

/** Statements and heads that are not where they were. */
async function* missingFromTopics(
  { log, living }: HeadsNeeds,
  signal: AbortSignal,
): AsyncGenerator<Deviation, void> {
  for (const topicId of ['keys', 'heads'] as const) yield* missingRecords(log, topicId, signal);
  if (living === null) return;
  yield* missingRecords(living, 'heads', signal);
  yield* headsGone({ archive: log, living }, signal);
}

const summaryOf = (
  { provedLines }: ArchiveHeadsFound,
  { lines, living }: HeadsNeeds,
): ArchiveHeadsSummary => ({ lines: lines?.length ?? 0, provedLines, isComparedWithLog: living !== null });

async function readOwn({ log, roots, comparedFromMs }: HeadsNeeds, signal: AbortSignal): Promise<OwnHeads> {
  const heads = headsOf(log, roots);
  const reading = heads.read('earliest', signal);
  const first = await reading.next();
  const own = new OwnHeads((await heads.known(signal)).keys.ring.generations, comparedFromMs);
  if (!first.done) own.take(first.value);
  for await (const head of reading) own.take(head);
  return own;
}

/** The keys of the log that still lives are those of the archive, and what came since. */
async function ofArchive(
  { log, lines, living, roots }: HeadsNeeds,
  signal: AbortSignal,
): Promise<ArchiveHeadsFound | null> {
  if (lines === null) return null;
  const check = new ArchiveHeadsCheck(lines, living === null ? 'by the archive' : 'by the log');
  const heads = headsOf(living ?? log, roots);
  for await (const head of heads.read('earliest', signal)) check.take(head);
  return check.finish((await heads.known(signal)).trust);
}

function* withoutHeads(
  archive: ArchiveHeadsFound | null,
  { lines }: HeadsNeeds,
  { decisionHeads }: OwnHeads,
): Iterable<Deviation> {
  const provedLines = archive?.provedLines ?? 0;
  const later = lines?.slice(provedLines).filter(isToBeSigned).length ?? 0;
  if (later > 0) yield noHeads(provedLines === 0 ? NOTHING_SIGNED : underNoHead(later, provedLines));
  if (decisionHeads === 0) yield noHeads('no decision service has signed a head');
}

const noHeads = (message: string): Deviation => ({ kind: 'no-heads', message, node: null, places: [] });

const NOTHING_SIGNED = 'the archive has no head that is right: its archiver signed nothing';
const underNoHead = (later: number, provedLines: number): string =>
  `${counted(later, 'line')} of the manifest after line ${provedLines} ${later === 1 ? 'is' : 'are'} under no head: an archiver is at work, could not sign, or somebody else wrote ${later === 1 ? 'it' : 'them'}`;

import type { EventLog } from '../../../../packages/event-log/port.ts';
import type { TrustRoots } from '../../../../schemas/keys/trust-roots.ts';
import type { ManifestLine } from '../../archive/manifest-entry.ts';
import { createCollector, type Found } from '../collected-findings.ts';
import type { Deviation } from '../findings.ts';
import { type ArchiveHeadsFound, checkArchiveHeads } from './archive-heads.ts';
import { missingStatements } from './missing-statements.ts';
import { type ReadHeads, readHeads, trustThen } from './read-heads.ts';

/** What an archive, and what decisions have of heads. */
export interface HeadsSummary {
  /** `null` where no archive was read. */
  readonly archive: { readonly lines: number; readonly provedLines: number } | null;
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
}

/** What signed heads say of the archive, and of statements about keys; of decisions partitions are compared one by one. */
export async function verifyHeads(needs: HeadsNeeds, signal: AbortSignal): Promise<VerifiedHeads> {
  const { log, living, roots } = needs;
  const own = await readHeads(log, { roots, from: 'earliest' }, signal);
  const others = living === null ? null : await readHeads(living, { roots, from: 'earliest' }, signal);
  const archive = checkedArchive(needs, own, others);
  const missing = await missingStatements(log, own, signal);
  const decisionHeads = own.heads.filter(({ event }) => event.type === 'fleetgc.decision-head').length;
  const none = needs.areRequired ? [...withoutHeads(archive, decisionHeads)] : [];
  const { deviation, found } = createCollector();
  for (const one of [...(archive?.deviations ?? []), ...missing, ...none]) deviation(one);
  const summary = archive && { lines: archive.lines, provedLines: archive.provedLines };
  return { found: found(), heads: { archive: summary, decisionHeads } };
}

interface CheckedArchive extends ArchiveHeadsFound {
  readonly lines: number;
}

/** The keys of the log that still lives are those of the archive, and what came since. */
function checkedArchive(
  { lines }: HeadsNeeds,
  own: ReadHeads,
  others: ReadHeads | null,
): CheckedArchive | null {
  if (lines === null) return null;
  const heads = [...own.heads, ...(others?.heads ?? [])];
  const trust = trustThen((others ?? own).ring);
  return { lines: lines.length, ...checkArchiveHeads({ lines, heads, trust }) };
}

function* withoutHeads(archive: ArchiveHeadsFound | null, decisionHeads: number): Iterable<Deviation> {
  const none = { kind: 'no-heads', node: null, places: [] } as const;
  if (archive?.provedLines === 0)
    yield { ...none, message: 'the archive has no head that is right: its archiver signed nothing' };
  if (decisionHeads === 0) yield { ...none, message: 'no decision service has signed a head' };
}

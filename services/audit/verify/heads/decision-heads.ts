import type { EventLog } from '../../../../packages/event-log/port.ts';
import type { TimeRange } from '../../../../packages/pipeline/read-log.ts';
import { readKeys } from '../../../../packages/trust/read-keys.ts';
import type { TrustRoots } from '../../../../schemas/keys/trust-roots.ts';
import type { ManifestLine } from '../../archive/manifest-entry.ts';
import { SETTLED_MS } from '../coverage.ts';
import { decisionRanges, type RangesByChain } from './decision-ranges.ts';
import {
  type KeptDecisions,
  keptInArchive,
  keptOnLog,
  type LostOffsets,
  lostFrom,
} from './kept-decisions.ts';
import { BelievedHeads } from './read-heads.ts';

/** What heads of decisions are asked for. */
export interface HeadsAsked {
  readonly roots: TrustRoots;
  /** Whether the topic of decisions keeps them as long as this release declares; `false` where nobody knows. */
  readonly keepsAsDeclared: boolean;
}

/** What signed heads say of the decisions of a partition, and which of them have to be there. */
export interface HeadsOfPartition {
  readonly ranges: RangesByChain;
  readonly kept: KeptDecisions;
  readonly lost: readonly LostOffsets[];
}

/**
 * To be asked before the decisions are read, so that all that heads name are there. `sinceMs` is how long ago the verification began:
 * retention goes on meanwhile.
 */
export type DecisionHeads = (
  partition: number,
  sinceMs: number,
  signal: AbortSignal,
) => Promise<HeadsOfPartition>;

export interface HeadsReading extends HeadsAsked {
  readonly range: TimeRange;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** A log, or an archive with its manifest. */
type HeadedLog = Pick<EventLog, 'read'> & { readonly lines?: readonly ManifestLine[] };

/** Each partition reads all heads, and keeps its own part of them. */
export async function openDecisionHeads(
  log: HeadedLog,
  { roots, range, nowMs, keepsAsDeclared }: HeadsReading,
  signal: AbortSignal,
): Promise<DecisionHeads> {
  const { lines } = log;
  const keptAfter = (sinceMs: number): KeptDecisions =>
    lines === undefined
      ? keptOnLog(range, { nowMs: nowMs + sinceMs, keepsAsDeclared })
      : keptInArchive(range, lines);
  const from = { timestampMs: Math.max(0, keptAfter(0).expectedFromMs - SETTLED_MS) };
  const { ring } = await readKeys(log, roots, signal);
  const heads = new BelievedHeads({ log, ring, from });
  const lost = lostFrom(lines ?? []);
  return async (partition, sinceMs, reading) => ({
    ranges: await decisionRanges(heads.read(reading), { partition, range }),
    kept: keptAfter(sinceMs),
    lost: lost.filter((one) => one.partition === partition),
  });
}

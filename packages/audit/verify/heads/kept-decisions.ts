import { TOPICS } from '../../../../schemas/events/topics.ts';
import type { ManifestLine } from '../../../archive/manifest.ts';
import type { EventLog, TopicDifference } from '../../../log/port.ts';
import { HOUR_MS } from '../../../process/durations.ts';
import { toFleetGcError } from '../../../process/errors.ts';
import type { TimeRange } from '../../../records/read-log.ts';
import { DECISION_TOPICS, type DecisionTopicId } from '../../events/recorded-decision.ts';
import { AROUND_MS } from '../coverage.ts';

/** Which decisions have to be there, by when their writers heard that the log had them. Epoch milliseconds. */
export interface KeptDecisions {
  /** What is older was deleted by retention, or nobody asked for it. */
  readonly expectedFromMs: number;
  /** What is younger than this was not deleted by retention; between the two nobody knows. Infinity where nobody ever knows. */
  readonly certainFromMs: number;
  /** What the log got later was not read. */
  readonly readToMs: number;
}

/** Offsets that were deleted before they could be archived: an archive notes them in its manifest. */
export interface LostOffsets {
  readonly partition: number;
  readonly first: bigint;
  readonly last: bigint;
}

/** Of the log as it is at this moment. `keepsAsDeclared`: its topics of decisions keep them as long as this release says. */
export function keptOnLog(
  range: TimeRange,
  { nowMs, keepsAsDeclared }: { readonly nowMs: number; readonly keepsAsDeclared: boolean },
): KeptDecisions {
  const expectedFromMs = Math.max(range.fromMs ?? 0, declaredFromMs(nowMs));
  return {
    expectedFromMs,
    certainFromMs: keepsAsDeclared ? expectedFromMs : Number.POSITIVE_INFINITY,
    readToMs: readTo(range),
  };
}

/** An archive got what the log had when it was begun, of which nobody knows how long it kept anything; and all that came since. */
export function keptInArchive(range: TimeRange, lines: readonly ManifestLine[]): KeptDecisions {
  const [first] = lines;
  const begunMs = first?.kind === 'archive' ? first.begunAtMs : 0;
  return {
    expectedFromMs: Math.max(range.fromMs ?? 0, declaredFromMs(begunMs)),
    certainFromMs: Math.max(range.fromMs ?? 0, begunMs),
    readToMs: readTo(range),
  };
}

/**
 * Before when decisions are old enough for a head to name them. An archive got its heads before its decisions, so that it has no
 * head without these; so what counts is its newest head.
 */
export function headedBeforeMs(
  { toMs }: TimeRange,
  nowMs: number,
  lines: readonly ManifestLine[] | null,
): number {
  const endMs = lines === null ? nowMs : newestHeadMs(lines);
  return Math.min(endMs, toMs ?? endMs) - AROUND_MS;
}

const newestHeadMs = (lines: readonly ManifestLine[]): number =>
  lines.reduce(
    (ms, line) =>
      line.kind === 'file' && line.topic === TOPICS.heads.name ? Math.max(ms, line.newestMs) : ms,
    0,
  );

export const lostFrom = (topicId: DecisionTopicId, lines: readonly ManifestLine[]): readonly LostOffsets[] =>
  lines.flatMap((line) =>
    line.kind === 'gap' && line.topic === TOPICS[topicId].name
      ? [{ partition: line.partition, first: BigInt(line.firstOffset), last: BigInt(line.lastOffset) }]
      : [],
  );

const readTo = ({ toMs }: TimeRange): number => (toMs === null ? Number.POSITIVE_INFINITY : toMs + AROUND_MS);

const DECISIONS: readonly string[] = Object.values(DECISION_TOPICS).map((id) => TOPICS[id].name);

/** Nobody knows when exactly a broker deletes. All decisions are kept as long. */
const declaredFromMs = (ms: number): number => ms - TOPICS.decisions.retentionMs + HOUR_MS;

/**
 * Whether retention leaves decisions on their topics for as long as this release declares, or longer. Where the log does not say how
 * the topic is set up, nobody knows.
 */
export async function keepsAsDeclared(log: Pick<EventLog, 'checkTopics'>): Promise<boolean> {
  try {
    return !(await log.checkTopics()).some(keepsLess);
  } catch (error) {
    if (toFleetGcError(error).code === 'INTERRUPTED') throw error;
    return false;
  }
}

const SETTING = /^(retention\.ms|retention\.bytes|cleanup\.policy)=(.*)$/;

function keepsLess({ topic, kind, found }: TopicDifference): boolean {
  if (!DECISIONS.includes(topic)) return false;
  if (kind === 'missing') return true;
  const [, name, value] = SETTING.exec(found) ?? [];
  if (name !== 'retention.ms') return name !== undefined;
  return !(value === '-1' || Number(value) >= TOPICS.decisions.retentionMs);
}

import type { KeyAct } from '../fleet/keys.ts';
import type { ClockStep } from '../fleet/machine-clock.ts';
import type { Act } from '../fleet/operator.ts';
import type { Played } from '../schedule/played.ts';
import type { TruthLine } from '../truth.ts';
import type { LogEvidence } from './log-evidence.ts';

/** All that a round is judged by. Nothing of it was computed by the product's own rules. */
export interface Evidence {
  readonly nodes: readonly { readonly name: string; readonly truth: readonly TruthLine[] }[];
  readonly acts: readonly Act[];
  /** What roots said of keys, in that order. */
  readonly keys: readonly KeyAct[];
  /** How far the clock of a node was from the true one. */
  readonly clocks: Readonly<Record<string, readonly ClockStep[]>>;
  readonly played: readonly Played[];
  readonly log: LogEvidence;
  /** `null` where nobody archived. */
  readonly archive: ArchiveEvidence | null;
  /** What `audit verify` found; `null` as long as it was not asked. */
  readonly audit: AuditEvidence | null;
}

export interface ArchiveEvidence {
  /** What the last pass, the check and the query ended with that did not end well. */
  readonly problems: readonly string[];
  /** `topic/partition@offset` of each record in it. */
  readonly places: readonly string[];
}

export interface AuditEvidence {
  /** As many as it tells of. */
  readonly findings: readonly AuditFinding[];
  readonly isCut: boolean;
}

export interface AuditFinding {
  readonly kind: string;
  readonly node: string | null;
  readonly message: string;
  /** `topic/partition@offset`, the record itself first. */
  readonly places: readonly string[];
}

export const INVARIANTS = [
  'policy',
  'owned',
  'never',
  'use',
  'needless',
  'twice',
  'lost',
  'relief',
  'signed',
  'audit',
  'archive',
] as const;

export interface Violation {
  readonly invariant: (typeof INVARIANTS)[number];
  readonly node: string;
  /** What was seen, for whoever looks for the cause. */
  readonly text: string;
}

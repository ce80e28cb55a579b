import type { DecisionOutcome } from '../../../schemas/events/decision.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import type { Doubt } from '../../decision/conclusion.ts';
import { evictionThresholds } from './rules/eviction.ts';
import { chosen, type Finding, type NewReclaim, type Thresholds } from './rules/finding.ts';
import { usageThresholds } from './rules/image-usage.ts';

export const DECIDER = { name: 'pressure', version: '1' } as const;

const THRESHOLDS: readonly Thresholds[] = [evictionThresholds, usageThresholds];

interface PressureConclusion {
  readonly outcome: Extract<DecisionOutcome, 'ordered' | 'nothing-to-do' | 'not-believed'>;
  readonly reason: string;
  readonly notBelieved: readonly Doubt[];
  readonly begin: NewReclaim | null;
}

/** Whether a node's disks call for a reclaim, and what it has to reach. At most one at a time. */
export function decide(stats: DiskStats, policy: Policy): PressureConclusion {
  const findings = THRESHOLDS.flatMap((thresholds) => thresholds(stats, policy));
  const notBelieved = distinct(findings.flatMap((one) => (one.kind === 'doubt' ? [one.doubt] : [])));
  const begin = chosen(
    findings.filter((finding) => finding.kind === 'met'),
    stats,
  );
  if (begin !== null) {
    const { cause, target, actions, step, reason } = begin;
    return { outcome: 'ordered', reason, notBelieved, begin: { cause, target, actions, step } };
  }
  return {
    outcome: notBelieved.length > 0 ? 'not-believed' : 'nothing-to-do',
    reason: [...new Set(findings.map(sentence))].join('; '),
    notBelieved,
    begin: null,
  };
}

const sentence = (finding: Finding): string =>
  finding.kind === 'doubt' ? finding.doubt.message : finding.reason;

/** Thresholds that look at the same reading doubt the same. */
const distinct = (doubts: readonly Doubt[]): readonly Doubt[] => [
  ...new Map(doubts.map((doubt) => [doubt.message, doubt])).values(),
];

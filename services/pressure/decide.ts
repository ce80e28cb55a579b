import type { DecisionOutcome } from '../../schemas/decision.ts';
import type { DiskStats } from '../../schemas/disk-stats.ts';
import type { Policy } from '../../schemas/policy.ts';
import type { Doubt } from '../shared/decision/conclusion.ts';
import { imageUsage } from './rules/image-usage.ts';
import type { Finding, Signal } from './rules/signal.ts';

export const DECIDER = { name: 'pressure', version: '1' } as const;

/** In the order in which they are asked; the first that is met begins the reclaim. */
const SIGNALS: readonly Signal[] = [imageUsage];

export interface PressureConclusion {
  readonly outcome: Extract<DecisionOutcome, 'ordered' | 'nothing-to-do' | 'not-believed'>;
  readonly reason: string;
  readonly notBelieved: readonly Doubt[];
  /** The reclaim to begin, yet without an id. */
  readonly begin: Pick<Extract<Finding, { kind: 'met' }>, 'cause' | 'target'> | null;
}

/** Whether a node's disks call for a reclaim, and what it has to reach. */
export function decide(stats: DiskStats, policy: Policy): PressureConclusion {
  const findings = SIGNALS.map((signal) => signal(stats, policy));
  const notBelieved = findings.flatMap((finding) => (finding.kind === 'doubt' ? [finding.doubt] : []));
  const met = findings.find((finding) => finding.kind === 'met');
  if (met) {
    const { cause, target, reason } = met;
    return { outcome: 'ordered', reason, notBelieved, begin: { cause, target } };
  }
  const reason = findings.map(sentence).join('; ');
  return {
    outcome: notBelieved.length > 0 ? 'not-believed' : 'nothing-to-do',
    reason,
    notBelieved,
    begin: null,
  };
}

const sentence = (finding: Finding): string =>
  finding.kind === 'doubt' ? finding.doubt.message : finding.reason;

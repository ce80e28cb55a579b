import type { DiskStats } from '../../schemas/disk-stats.ts';
import type { PolicySet } from '../../schemas/policy.ts';
import type { Reclaim } from '../../schemas/reclaim.ts';
import { type Conclusion, NO_VERDICTS } from '../shared/decision/conclusion.ts';
import { gateFor } from '../shared/decision/gate.ts';
import { type Deciding, decisionId, decisionOutputs, observeOrder } from '../shared/decision-record.ts';
import { type Input, nodeOutput, type Outputs, type PureHandler } from '../shared/handler.ts';
import { deriveId } from '../shared/ids.ts';
import { DECIDER, decide, type PressureConclusion } from './decide.ts';
import type { Beginning } from './rules/signal.ts';

/** Disk statistics in; a decision record and, when a threshold is met, one order to observe out. */
export const pressureHandler =
  (policies: () => PolicySet): PureHandler<DiskStats> =>
  (input) =>
    answer(input, policies());

function answer(input: Input<DiskStats>, policies: PolicySet): Outputs {
  const gate = gateFor(policies, input.event);
  const deciding: Deciding = { decider: DECIDER, input, policies, record: gate.record };
  if (gate.kind === 'closed') return outputs(deciding, { ...gate, begin: null });
  return outputs(deciding, decide(input.event, gate.record.policy));
}

type Answer = Pick<Conclusion, 'outcome' | 'reason' | 'notBelieved'> & Pick<PressureConclusion, 'begin'>;

function outputs(deciding: Deciding, answered: Answer): Outputs {
  const order = answered.begin && observeOrder(deciding, firstStep(deciding, answered.begin));
  const { outcome, reason, notBelieved } = answered;
  const conclusion: Conclusion = {
    outcome,
    reason,
    notBelieved,
    verdicts: NO_VERDICTS,
    estimatedBytes: 0,
    reclaim: order?.reclaim ?? null,
  };
  return decisionOutputs(deciding, conclusion, order && nodeOutput('observe', order));
}

/** A reclaim begins with the first of its actions. */
const firstStep = (deciding: Deciding, begin: Beginning): Reclaim => ({
  id: deriveId('reclaim', decisionId(deciding)),
  ...begin,
  round: 1,
});

import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { ReclaimContinues } from '../../../schemas/events/result.ts';
import type { EventOf } from '../../../schemas/events/topics.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import { deriveId } from '../../canonical/ids.ts';
import type { Conclusion } from '../../decision/conclusion.ts';
import { gatedHandler } from '../../decision/gate.ts';
import { type DecidedOutputs, type Input, nodeOutput, type PureHandler } from '../../decision/handler.ts';
import { type Deciding, decisionId, decisionOutputs, observeOrder } from '../../decision/record.ts';
import type { DecisionService } from '../../service/decision-writing.ts';
import { DECIDER, decide } from './decide.ts';
import type { NewReclaim } from './rules/finding.ts';

/** What pressure decides on: how full the disks of a node are, and that a reclaim goes on. */
export type PressureEvent = DiskStats | ReclaimContinues;

/** One of them in; a decision record and, when a reclaim begins or goes on, one order to observe out. */
export const pressureHandler = (policies: () => PolicySet): PureHandler<PressureEvent> => {
  const begin = beginReclaim(policies);
  return ({ event, ...input }) =>
    event.type === 'fleetgc.node.disk-stats'
      ? begin({ event, ...input })
      : goOn({ event, ...input }, policies());
};

/** Of all results only one kind is decided on. */
export const resultsHandler = (policies: () => PolicySet): PureHandler<EventOf<'results'>> => {
  const handle = pressureHandler(policies);
  return ({ event, ...input }) =>
    event.type === 'fleetgc.node.reclaim-continues' ? handle({ event, ...input }) : [];
};

const beginReclaim = gatedHandler<'node', DiskStats>({
  decider: DECIDER,
  closed: (deciding, gate) => outputs(deciding, { ...gate, reclaim: null }),
  open: (deciding, { policy }) => {
    const { begin, ...decided } = decide(deciding.input.event, policy);
    return outputs(deciding, { ...decided, reclaim: begin && firstStep(deciding, begin) });
  },
});

/** Whether a policy or a pause still lets anything go is decided on the inventory that answers the order. */
function goOn(input: Input<ReclaimContinues>, policies: PolicySet): DecidedOutputs {
  const deciding: Deciding<'node', ReclaimContinues> = { decider: DECIDER, input, policies, record: null };
  const { event } = input;
  return outputs(deciding, {
    outcome: 'ordered',
    reason: whyContinued(event),
    notBelieved: [],
    reclaim: event.reclaim,
  });
}

type Answer = Pick<Conclusion, 'outcome' | 'reason' | 'notBelieved' | 'reclaim'>;

/** Where there is a reclaim it is ordered. */
function outputs(deciding: Deciding<'node'>, answer: Answer): DecidedOutputs {
  const { outcome, reason, notBelieved, reclaim } = answer;
  const order = reclaim && observeOrder(deciding, reclaim);
  const conclusion: Conclusion = {
    outcome,
    reason,
    notBelieved,
    verdicts: [],
    estimatedBytes: 0,
    reclaim,
  };
  return decisionOutputs(deciding, conclusion, order && nodeOutput('observe', order));
}

/** A reclaim begins with the first of its actions. */
const firstStep = (deciding: Deciding<'node'>, newReclaim: NewReclaim): Reclaim => ({
  id: deriveId('reclaim', decisionId(deciding)),
  ...newReclaim,
  round: 1,
});

/**
 * Why the next look of a reclaim is ordered, for the record. The fact says at which round and action it is; what policy and disk still
 * ask for is decided on the inventory that answers.
 */
function whyContinued({ reclaim, availableNow }: ReclaimContinues): string {
  const { cause, target, step, round } = reclaim;
  const { resource, filesystem, atLeast } = target;
  const now = availableNow === null ? 'it could not be measured' : `it has ${availableNow}`;
  return `the reclaim for ${cause.signal} goes on with ${step}, round ${round}: ${resource} of ${filesystem} shall be at least ${atLeast}, and ${now}`;
}

/** What it reads, and how it decides, whatever process it runs in. */
export const decider: DecisionService<'node'> = {
  name: 'pressure',
  subject: 'node',
  group: 'fleetgc-pressure',
  handlers: (policies) => ({ diskStats: pressureHandler(policies), results: resultsHandler(policies) }),
  decider: DECIDER,
};

import type { Decision } from '../../schemas/events/decision.ts';
import type { MessageReference } from '../../schemas/events/decision-parts.ts';
import type { PolicySet } from '../../schemas/policy/policy.ts';
import type { Conclusion } from './conclusion.ts';
import { decisionOutputs } from './decision-record.ts';
import type { DecidedOutputs, Input } from './handler.ts';
import type { EventHead } from './overtaking.ts';

/** The beginning of a message, and the newer one for which it is passed over. */
export interface OvertakenInput extends Input<EventHead> {
  readonly overtakenBy: MessageReference;
}

/** An overtaken message in; the record that says so out, and nothing else. */
export const overtakenHandler =
  (decider: Decision['decider'], policies: () => Pick<PolicySet, 'hash'>) =>
  ({ overtakenBy, ...input }: OvertakenInput): DecidedOutputs =>
    decisionOutputs(
      { decider, input, policies: policies(), record: null, overtakenBy },
      passedOver(input.event),
      null,
    );

const REASONS: Readonly<Record<EventHead['type'], string>> = {
  'fleetgc.node.inventory': 'a newer look was already there',
  'fleetgc.node.disk-stats': 'a newer reading was already there',
};

const passedOver = (event: EventHead): Conclusion => ({
  outcome: 'overtaken',
  reason: REASONS[event.type],
  notBelieved: [],
  verdicts: [],
  estimatedBytes: 0,
  reclaim: 'reclaim' in event ? event.reclaim : null,
});

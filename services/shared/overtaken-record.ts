import type { Decision, MessageReference } from '../../schemas/decision.ts';
import type { InventoryHead } from '../../schemas/inventory.ts';
import type { PolicySet } from '../../schemas/policy.ts';
import { type Conclusion, NO_VERDICTS } from './decision/conclusion.ts';
import { decisionOutputs } from './decision-record.ts';
import type { Input, Outputs } from './handler.ts';

/** The beginning of an inventory, and the newer inventory for which it is passed over. */
export interface OvertakenInput extends Input<InventoryHead> {
  readonly overtakenBy: MessageReference;
}

/** An overtaken inventory in; the record that says so out, and nothing else. */
export const overtakenHandler =
  (decider: Decision['decider'], policies: () => Pick<PolicySet, 'hash'>) =>
  ({ overtakenBy, ...input }: OvertakenInput): Outputs =>
    decisionOutputs(
      { decider, input, policies: policies(), record: null, overtakenBy },
      passedOver(input.event),
      null,
    );

const passedOver = ({ reclaim }: InventoryHead): Conclusion => ({
  outcome: 'overtaken',
  reason: 'a newer look was already there',
  notBelieved: [],
  verdicts: NO_VERDICTS,
  estimatedBytes: 0,
  reclaim,
});

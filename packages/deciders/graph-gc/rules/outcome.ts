import type { OwnershipAction } from '../../../../schemas/events/cluster-command.ts';
import type { OwnershipReference } from '../../../../schemas/events/ownership.ts';

export type ClusterRule =
  | 'D3'
  | 'D7'
  | 'D9'
  | 'D10'
  | 'D11'
  | 'D12'
  | 'D13'
  | 'D14'
  | 'D17'
  | 'E1'
  | 'E3'
  | 'H2'
  | 'I10'
  | 'S1'
  | 'S2'
  | 'S3'
  | 'S4'
  | 'S5'
  | 'S6'
  | 'S16';

/** What an executor has to find before it acts: the owner is not there, or there and waiting. */
export interface Confirmation {
  readonly owner: OwnershipReference;
  readonly is: 'absent' | 'waiting';
}

type Facts = Readonly<Record<string, string | number | boolean | null>>;

/** What was concluded of one candidate. `hold`: it would go, and somebody has to approve it first. */
export type Outcome =
  | {
      readonly kind: 'act';
      readonly rule: ClusterRule;
      readonly facts: Facts;
      readonly act: OwnershipAction;
      readonly confirm: readonly Confirmation[];
    }
  | { readonly kind: 'keep' | 'hold'; readonly rule: ClusterRule; readonly facts: Facts };

export const keep = (rule: ClusterRule, facts: Facts = {}): Outcome => ({ kind: 'keep', rule, facts });
export const hold = (rule: ClusterRule, facts: Facts): Outcome => ({ kind: 'hold', rule, facts });
export const act = (
  rule: ClusterRule,
  action: OwnershipAction,
  confirm: readonly Confirmation[] = [],
  facts: Facts = {},
): Outcome => ({ kind: 'act', rule, facts, act: action, confirm });

import { toFleetGcError } from '../../packages/process/errors.ts';
import {
  type PauseRecord,
  type PolicyRecord,
  type PolicySet,
  type SelectableNode,
  selectPolicy,
} from '../../schemas/policy/policy.ts';

/** What the policies that this process follows itself say of this node. */
export type PolicyInForce =
  | { readonly kind: 'enforced'; readonly record: PolicyRecord }
  | { readonly kind: 'paused'; readonly pause: Pick<PauseRecord, 'reason'> }
  /** No policy selects it, or the one that does says `dry-run`. */
  | { readonly kind: 'not-enforced'; readonly message: string }
  /** They cannot be read: a pause, or another policy, could be among them. */
  | { readonly kind: 'unreadable'; readonly message: string };

/** `current` throws `POLICIES_UNREADABLE` while nobody can tell. */
export function policyInForce(current: () => PolicySet, node: SelectableNode): PolicyInForce {
  let policies: PolicySet;
  try {
    policies = current();
  } catch (error) {
    return { kind: 'unreadable', message: toFleetGcError(error).message };
  }
  const selection = selectPolicy(policies, node);
  switch (selection.kind) {
    case 'paused':
      return { kind: 'paused', pause: selection.pause };
    case 'none':
      return { kind: 'not-enforced', message: 'no policy selects this node now' };
    case 'policy': {
      const { record } = selection;
      const { name, mode } = record.policy;
      if (mode === 'enforce') return { kind: 'enforced', record };
      return { kind: 'not-enforced', message: `policy ${name} says ${mode} for this node now` };
    }
  }
}

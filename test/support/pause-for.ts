import type { PolicySource } from '../../packages/policy/policies.ts';
import type { PauseRecord } from '../../schemas/policy/policy.ts';
import { type SelectableNode, selectPolicy } from '../../schemas/policy/policy-selection.ts';

/** The pause that holds for a node, or `null`. Throws as `current` does. */
export function pauseFor(
  { current }: Pick<PolicySource, 'current'>,
  node: SelectableNode,
): PauseRecord | null {
  const selection = selectPolicy(current.node(), node);
  return selection.kind === 'paused' ? selection.pause : null;
}

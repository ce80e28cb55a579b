import { type PauseRecord, type SelectableNode, selectPolicy } from '../../../schemas/policy.ts';
import type { PolicySource } from '../../shared/policies.ts';

/** What an executor asks before each removal. */
export type PauseSource = Pick<PolicySource, 'pauseFor'>;

/**
 * Also takes a node for paused while the policy that selects it now does not say `enforce`: commands of a policy that
 * was replaced or deleted live on for a while, and must not remove what it no longer may. Only for a process that knows
 * all labels of its node.
 */
export const pausedUnlessEnforced = (policies: Pick<PolicySource, 'current'>): PauseSource => ({
  pauseFor: (node) => {
    const selection = selectPolicy(policies.current(), node);
    if (selection.kind === 'paused') return selection.pause;
    if (selection.kind === 'none') return standstill(node, 'no policy selects this node any more');
    const { name, mode } = selection.record.policy;
    return mode === 'enforce' ? null : standstill(node, `the policy ${name} says ${mode} now`);
  },
});

const standstill = ({ cluster, node }: SelectableNode, reason: string): PauseRecord => ({
  type: 'fleetgc.pause',
  version: 1,
  id: 'not-enforced',
  selector: { clusters: [cluster], nodeNames: [node], pools: [], nodeLabels: {} },
  reason,
});

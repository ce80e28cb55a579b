import type { NodeSelector, PauseRecord, PolicyRecord, PolicySet } from '../../schemas/policy/policy.ts';
import {
  POOL_LABEL,
  type SelectableNode,
  selectPolicy,
  selects,
} from '../../schemas/policy/policy-selection.ts';
import { type EffectiveSetting, settingOrigins } from './setting-origins.ts';

/** Why a policy does not hold for a node. */
export type NotHolding =
  | { readonly kind: 'does-not-select'; readonly unmet: readonly UnmetCondition[] }
  | { readonly kind: 'lower-priority'; readonly than: string }
  /** Of equal priority. */
  | { readonly kind: 'later-by-name'; readonly than: string };

/** What holds for one node, and why. */
export interface EffectivePolicy {
  readonly node: SelectableNode;
  /** The pauses that select the node: while there is one, nothing is removed. */
  readonly pausedBy: readonly PauseRecord[];
  /** The policy that holds, or would without the pause; `null`: everything is kept. */
  readonly record: PolicyRecord | null;
  /** Of that policy; `null` where it is not applied, and of none. */
  readonly version: number | null;
  readonly settings: readonly EffectiveSetting[];
  readonly otherPolicies: readonly { readonly record: PolicyRecord; readonly reason: NotHolding }[];
  readonly otherPauses: readonly {
    readonly pause: PauseRecord;
    readonly unmet: readonly UnmetCondition[];
  }[];
}

/** Asks as the deciders do, and for what does not hold, why. */
export function effectivePolicy(
  set: PolicySet,
  node: SelectableNode,
  { isApplied }: { readonly isApplied: boolean },
): EffectivePolicy {
  const selection = selectPolicy({ ...set, pauses: [] }, node);
  const record = selection.kind === 'policy' ? selection.record : null;
  return {
    node,
    pausedBy: set.pauses.filter(({ selector }) => selects(selector, node)),
    record,
    version: record !== null && isApplied ? record.policyVersion : null,
    settings: record === null ? [] : settingOrigins(record),
    otherPolicies: set.policies
      .filter((other) => other !== record)
      .map((other) => ({ record: other, reason: notHolding(other, record, node) })),
    otherPauses: set.pauses
      .map((pause) => ({ pause, unmet: unmetConditions(pause.selector, node) }))
      .filter(({ unmet }) => unmet.length > 0),
  };
}

function notHolding(
  { policy }: PolicyRecord,
  holding: PolicyRecord | null,
  node: SelectableNode,
): NotHolding {
  const unmet = unmetConditions(policy.selector, node);
  if (unmet.length > 0 || holding === null) return { kind: 'does-not-select', unmet };
  const { name, priority } = holding.policy;
  return { kind: policy.priority < priority ? 'lower-priority' : 'later-by-name', than: name };
}

/** A condition of a selector that a node does not meet. */
export interface UnmetCondition {
  /** As in `selector.nodeLabels.role`. */
  readonly setting: string;
  readonly wants: string;
  /** What the node has instead; `null` when it has nothing of the kind. */
  readonly has: string | null;
}

const NO_CONDITIONS: NodeSelector = { clusters: [], nodeNames: [], pools: [], nodeLabels: {} };

/** Why a selector does not select a node; nothing exactly when it does. */
export const unmetConditions = (selector: NodeSelector, node: SelectableNode): readonly UnmetCondition[] =>
  conditionsOf(selector, node)
    .filter(({ part }) => !selects({ ...NO_CONDITIONS, ...part }, node))
    .map(({ condition }) => condition);

interface Condition {
  readonly part: Partial<NodeSelector>;
  readonly condition: UnmetCondition;
}

function conditionsOf(selector: NodeSelector, node: SelectableNode): readonly Condition[] {
  const { clusters, nodeNames, pools, nodeLabels } = selector;
  const condition = (setting: string, wants: string, has: string | undefined): UnmetCondition => ({
    setting: `selector.${setting}`,
    wants,
    has: has === undefined || has === '' ? null : has,
  });
  return [
    { part: { clusters }, condition: condition('clusters', clusters.join(' or '), node.cluster) },
    { part: { nodeNames }, condition: condition('nodeNames', nodeNames.join(' or '), node.node) },
    { part: { pools }, condition: condition('pools', pools.join(' or '), node.nodeLabels[POOL_LABEL]) },
    ...Object.entries(nodeLabels).map(([name, value]) => ({
      part: { nodeLabels: { [name]: value } },
      condition: condition(`nodeLabels.${name}`, value, node.nodeLabels[name]),
    })),
  ];
}

export const unmetText = (conditions: readonly UnmetCondition[]): string =>
  conditions
    .map((condition) => `${condition.setting} is ${condition.wants}, ${hasText(condition)}`)
    .join('; ');

function hasText({ setting, has }: UnmetCondition): string {
  if (has !== null) return `the node has ${has}`;
  return setting === 'selector.clusters' ? 'no cluster was given' : 'the node has none';
}

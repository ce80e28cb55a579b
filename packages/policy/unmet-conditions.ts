import { type NodeSelector, POOL_LABEL, type SelectableNode, selects } from '../../schemas/policy/policy.ts';

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

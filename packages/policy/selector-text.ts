import type { NodeSelector } from '../../schemas/policy/policy.ts';

/** Which nodes a selector is for, as people say it. */
export function selectorText({ clusters, nodeNames, pools, nodeLabels }: NodeSelector): string {
  const labels = Object.entries(nodeLabels).map(([name, value]) => `${name}=${value}`);
  const conditions = [
    named('cluster', clusters),
    named('node', nodeNames),
    named('pool', pools),
    named('label', labels),
  ].filter((condition) => condition !== '');
  return conditions.length === 0 ? 'all nodes' : conditions.join(', ');
}

/** The same of the clusters that a policy for clusters is for. */
export const clusterSelectorText = ({ clusters }: Pick<NodeSelector, 'clusters'>): string =>
  clusters.length === 0 ? 'all clusters' : named('cluster', clusters);

const named = (noun: string, values: readonly string[]): string =>
  values.length === 0 ? '' : `${noun} ${values.join(noun === 'label' ? ' and ' : ' or ')}`;

import type { DashboardAction } from '../../../../schemas/reports/dashboard-actions.ts';

type PauseSelector = DashboardAction<'pause'>['selector'];

/** Names of nodes and pools choose nodes; a cluster's own objects are paused only where neither is given. */
const isOfNodesOnly = ({ nodeNames, pools }: PauseSelector): boolean =>
  nodeNames.length > 0 || pools.length > 0;

/** What a pause of these stops, in sentences. */
export function pauseReachText(selector: PauseSelector): string {
  if (isOfNodesOnly(selector))
    return 'This pauses the nodes that match all of this. The Kubernetes objects of their clusters are not paused.';
  return selector.clusters.length === 0
    ? 'This pauses the whole fleet: all nodes, and the Kubernetes objects of all clusters.'
    : 'This pauses these clusters: all of their nodes, and their Kubernetes objects.';
}

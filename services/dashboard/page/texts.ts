import { sizeText } from '../../../packages/text/size-text.ts';
import type { DashboardFleet, DashboardProgress, NodeState } from '../../../schemas/reports/dashboard.ts';
import type { DashboardAction } from '../../../schemas/reports/dashboard-actions.ts';
import type { DashboardClusters, GraphState } from '../../../schemas/reports/dashboard-clusters.ts';

/** What a state of a node is called. */
const STATE_TEXT: Readonly<Record<NodeState, string>> = {
  silent: 'silent',
  pressure: 'above its threshold',
  warned: 'has a warning',
  paused: 'paused',
  'keeps-all': 'no policy: keeps everything',
  well: 'well',
};

/** All that is true of a node, the worst first. */
export function stateText(
  columns: Pick<DashboardFleet['columns'], 'state' | 'isPaused' | 'hasPolicy'>,
  position: number,
): string {
  const worst = columns.state[position] ?? 'well';
  const also = (['paused', 'keeps-all'] as const).filter((sign) => hasSign(columns, position, sign));
  return [...new Set([worst, ...also])].map((each) => STATE_TEXT[each]).join('; ');
}

export const usedText = (used: number | null): string => (used === null ? 'unknown' : `${used} %`);

/** As it was measured. */
export const freedText = ({ freedBytes }: { readonly freedBytes: string }): string =>
  sizeText(BigInt(freedBytes));

/** What nobody could measure, as it was estimated; `null` where there is nothing of it. */
export function unmeasuredText(freed: {
  readonly unmeasured: number;
  readonly estimatedBytes: string;
}): string | null {
  if (freed.unmeasured === 0 || freed.estimatedBytes === '0') return null;
  return `and about ${sizeText(BigInt(freed.estimatedBytes))} that nobody could measure`;
}

/** In which of five steps of use something is; from the last the disk is nearly full. */
export function useStep(used: number): 0 | 1 | 2 | 3 | 4 {
  if (used < 50) return 0;
  if (used < 70) return 1;
  if (used < 80) return 2;
  return used < 90 ? 3 : 4;
}

export const countText = (count: number): string => count.toLocaleString('en');

/** When the day, or the month, of the reader began. */
export function beginningOf(what: 'day' | 'month', nowMs: number): number {
  const now = new Date(nowMs);
  return new Date(now.getFullYear(), now.getMonth(), what === 'day' ? now.getDate() : 1).getTime();
}

/** The worst first. */
export const NODE_STATES: readonly NodeState[] = [
  'silent',
  'pressure',
  'warned',
  'paused',
  'keeps-all',
  'well',
];

/** A span of time in its two largest units. */
export function spanText(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  const [days, hours] = [Math.floor(minutes / 1_440), Math.floor((minutes % 1_440) / 60)];
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

/** What there is no room for, in a sentence; `null` where all is shown. */
export function leftOutText({
  nodes,
  clusters,
  inventories,
  names,
}: DashboardProgress['leftOut']): string | null {
  const parts = [
    { count: nodes, text: `${countText(nodes)} more nodes` },
    { count: clusters, text: `${countText(clusters)} more clusters` },
    { count: inventories, text: `the images of ${countText(inventories)} nodes` },
    { count: names, text: `${countText(names)} names in the search` },
  ].filter(({ count }) => count > 0);
  return parts.length === 0 ? null : `no room for: ${parts.map(({ text }) => text).join(', ')}`;
}

/** What no key proves, in a sentence; `null` where nobody looks, or all is proved. */
export function notBelievedText(notBelieved: DashboardProgress['notBelieved']): string | null {
  if (notBelieved === null || notBelieved.records === 0) return null;
  const { records, areShown } = notBelieved;
  return `${countText(records)} reports ${areShown ? 'are shown though' : 'are not shown:'} no key of their node or cluster signed them`;
}

/** What is drawn on the square of a node, whatever its colour: each has a shape of its own, and room for the others. */
export type NodeSign = 'marked' | 'paused' | 'keeps-all';

/** What a sign means, for the legend. */
export const SIGN_TEXT: Readonly<Record<NodeSign, string>> = {
  marked: 'above its threshold, or has a warning',
  paused: 'paused',
  'keeps-all': 'no policy selects it: it keeps everything',
};

export const NODE_SIGNS: readonly NodeSign[] = ['marked', 'paused', 'keeps-all'];

type Shown = Pick<DashboardFleet['columns'], 'state' | 'isPaused' | 'hasPolicy'>;

export function hasSign({ state, isPaused, hasPolicy }: Shown, position: number, sign: NodeSign): boolean {
  switch (sign) {
    case 'marked':
      return state[position] === 'pressure' || state[position] === 'warned';
    case 'paused':
      return isPaused[position] === true;
    case 'keeps-all':
      return hasPolicy[position] === false;
  }
}

export const countSigned = (columns: Shown, sign: NodeSign): number =>
  columns.state.filter((_, position) => hasSign(columns, position, sign)).length;

/** How an object stands, in words. */
export const GRAPH_STATE_TEXT: Readonly<Record<GraphState, string>> = {
  candidate: 'reported as a candidate',
  'being-deleted': 'being deleted',
  settled: 'nothing to be done',
  removed: 'deleted by FleetGC',
  gone: 'gone',
  there: 'there',
  unknown: 'not known',
};

interface Named {
  readonly namespace: string | null;
  readonly name: string;
}

export const nameText = ({ namespace, name }: Named): string =>
  namespace === null || namespace === '' ? name : `${namespace}/${name}`;

/** `apps/ReplicaSet`, or `Pod`. */
export const kindText = ({ group, kind }: { readonly group: string; readonly kind: string }): string =>
  group === '' ? kind : `${group}/${kind}`;

/** What holds for a cluster, in words. */
export function policyText({ status }: Pick<DashboardClusters['clusters'][number], 'status'>): string {
  if (status === null) return 'not known';
  const { policy, pausedBecause } = status;
  if (policy === null) return 'none: everything is kept';
  const paused = pausedBecause === null ? '' : `, paused${pausedBecause === '' ? '' : `: ${pausedBecause}`}`;
  return `${policy.name} (${policy.mode})${paused}`;
}

/** What must happen until a finalizer goes, of those that Kubernetes sets itself. */
const KNOWN_FINALIZERS: Readonly<Record<string, string>> = {
  kubernetes: 'Something in the namespace is left: its conditions say what.',
  'kubernetes.io/pvc-protection': 'A Pod still uses the claim: it goes when that Pod has gone.',
  'kubernetes.io/pv-protection': 'A claim is still bound to the volume.',
  'batch.kubernetes.io/job-tracking': 'The Job controller has not counted the Pod: does it run?',
  'service.kubernetes.io/load-balancer-cleanup':
    'The cloud controller has not deleted the load balancer: does it run?',
  'customresourcecleanup.apiextensions.k8s.io': 'Objects of the kind are left, and wait themselves.',
};

/** What to do about a finalizer that does not go. Whose it is, its name says before the slash. */
export function finalizerText(finalizer: string): string {
  if (Object.hasOwn(KNOWN_FINALIZERS, finalizer)) return KNOWN_FINALIZERS[finalizer] ?? '';
  const [owner = '', ...rest] = finalizer.split('/');
  return rest.length === 0
    ? `Find out who sets ${finalizer}: that one has to take it away.`
    : `The controller of ${owner} has to take it away: does it run, and what does it log?`;
}

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

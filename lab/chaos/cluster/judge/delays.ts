import { type Delay, delayOf } from '../../judge/delays.ts';
import type { ClusterFault } from '../faults/fault.ts';
import { AGENT, EXECUTOR } from '../shape.ts';
import type { ClusterPlayed } from './evidence.ts';

/** What may keep the executor from knowing the policies: it, its way to the log, or the log itself. */
export const policyDelays = (played: readonly ClusterPlayed[]): readonly Delay[] =>
  played.filter(({ fault }) => delaysPolicies(fault)).map(delayOf);

/** The same for what roots said of keys. */
export const keyDelays = (played: readonly ClusterPlayed[]): readonly Delay[] =>
  played
    .filter(
      ({ fault }) =>
        delaysPolicies(fault) ||
        fault.kind === 'keys-lost' ||
        (fault.kind === 'topic-anew' && fault.topic === 'gc.keys'),
    )
    .map(delayOf);

function delaysPolicies(fault: ClusterFault): boolean {
  switch (fault.kind) {
    case 'freeze':
      return fault.part === EXECUTOR;
    case 'network':
      return fault.client === 'fleetgc-cluster' || fault.client === 'fleetgc-cluster-executor';
    case 'topic-anew':
      return fault.topic === 'gc.policies';
    case 'broker-killed':
    case 'broker-frozen':
    case 'broker-full':
    case 'slow':
      return true;
    default:
      return false;
  }
}

/** Whether the agent may have missed something of what happened in that time, or another one began that knew nothing of before. */
export const wasBlind = (played: readonly ClusterPlayed[], fromMs: number, toMs: number): boolean =>
  played
    .filter(({ fault }) => blinds(fault))
    .map(delayOf)
    .some((delay) => delay.fromMs <= toMs && delay.toMs >= fromMs);

function blinds(fault: ClusterFault): boolean {
  switch (fault.kind) {
    case 'kill':
    case 'freeze':
    case 'doubled':
      return fault.part === AGENT;
    case 'network':
      return fault.client === 'fleetgc-cluster' || fault.client === 'fleetgc-cluster-agent';
    case 'topic-anew':
      return fault.topic === 'gc.cluster.ownership';
    case 'slow':
    case 'watch':
    case 'watch-late':
    case 'pages':
    case 'storm':
    case 'no-rights':
    case 'unanswered':
    case 'erring':
    case 'server-away':
    case 'restored':
      return true;
    default:
      return false;
  }
}

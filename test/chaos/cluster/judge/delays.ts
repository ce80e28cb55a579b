import { type Delay, delayOf } from '../../judge/delays.ts';
import type { ClusterFault } from '../faults/fault.ts';
import { EXECUTOR } from '../shape.ts';
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
      return true;
    default:
      return false;
  }
}

import type { ReclaimContinues } from '../../schemas/events/result.ts';

/**
 * Why the next look of a reclaim is ordered, for the record. The fact says at which round and action it is; what policy and disk still
 * ask for is decided on the inventory that answers.
 */
export function whyContinued({ reclaim, availableNow }: ReclaimContinues): string {
  const { cause, target, step, round } = reclaim;
  const { resource, filesystem, atLeast } = target;
  const now = availableNow === null ? 'it could not be measured' : `it has ${availableNow}`;
  return `the reclaim for ${cause.signal} goes on with ${step}, round ${round}: ${resource} of ${filesystem} shall be at least ${atLeast}, and ${now}`;
}

import type { Violation } from '../../judge/evidence.ts';

/** There is one cluster in a round. */
export const clusterViolation = (invariant: Violation['invariant'], text: string): Violation => ({
  invariant,
  node: 'cluster',
  text,
});

import type { Evidence, Violation } from './evidence.ts';

/** The log proves itself: nothing on it deviates from what the product promises. */
export const audited = ({ audit }: Pick<Evidence, 'audit'>): readonly Violation[] =>
  (audit ?? []).map(({ kind, node, message, places }) => ({
    invariant: 'audit',
    node: node ?? 'fleet',
    text: `${kind}: ${message} (${places.join(', ')})`,
  }));

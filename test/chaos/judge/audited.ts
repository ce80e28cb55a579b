import type { Evidence, Violation } from './evidence.ts';
import { isLogForged } from './forged.ts';

/** The log proves itself: nothing on it deviates from what the product promises. */
export const audited = ({ audit, played }: Evidence): readonly Violation[] =>
  isLogForged(played)
    ? []
    : (audit ?? []).map(({ kind, node, message, places }) => ({
        invariant: 'audit',
        node: node ?? 'fleet',
        text: `${kind}: ${message} (${places.join(', ')})`,
      }));

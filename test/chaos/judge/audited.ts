import type { Evidence, Violation } from './evidence.ts';

/**
 * The log proves itself: nothing on it deviates from what the product promises, but for what rests on messages that the
 * round forged, which is to be found.
 */
export function audited({ audit, played, log }: Evidence): readonly Violation[] {
  // A place means another record when its topic was made anew.
  if (played.some(({ fault }) => fault.kind === 'topic-anew')) return [];
  return (audit ?? [])
    .filter(({ places }) => !places.some((place) => log.tainted.has(place)))
    .map(({ kind, node, message, places }) => ({
      invariant: 'audit',
      node: node ?? 'fleet',
      text: `${kind}: ${message} (${places.join(', ')})`,
    }));
}

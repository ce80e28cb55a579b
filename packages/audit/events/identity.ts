import type { Instant } from '../../../schemas/events/time.ts';

/** Tells the objects of one node apart. */
export const objectKey = ({ kind, id }: { readonly kind: string; readonly id: string }): string =>
  `${kind} ${id}`;

/** Times of one boot are compared; of two boots, the log's order counts. */
export const isAfter = (later: Instant, earlier: Instant): boolean =>
  later.bootId !== earlier.bootId || later.sinceBootMs > earlier.sinceBootMs;

/** Of one boot alone: what was taken in another boot is never older than what was done before it. */
export const isBefore = (earlier: Instant, later: Instant): boolean =>
  earlier.bootId === later.bootId && earlier.sinceBootMs < later.sinceBootMs;

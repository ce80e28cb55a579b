import { z } from 'zod';

const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

/** Epoch milliseconds of a time as an API server writes it; `null` for what is none, and for the zero time. */
export function timeMs(text: string | null | undefined): number | null {
  if (text === null || text === undefined || !RFC_3339.test(text)) return null;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) || atMs < 0 ? null : atMs;
}

/** A time that may be missing, or unreadable: then nothing follows from it. */
export const ApiTime = z.string().nullish().catch(null).transform(timeMs);

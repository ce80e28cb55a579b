import type { z } from 'zod';

const MOST = 2_000;

/** The same texts come again and again, and nothing of what is parsed is ever changed. */
export function memoizedParse<T>(schema: z.ZodType<T>): (json: string) => T {
  const known = new Map<string, T>();
  return (json) => {
    const parsed = known.get(json) ?? schema.parse(JSON.parse(json));
    if (known.size >= MOST) known.clear();
    known.set(json, parsed);
    return parsed;
  };
}

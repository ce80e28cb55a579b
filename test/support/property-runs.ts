/** Share of the cases of each property that a quick run checks, in percent; a whole run checks all. */
export const PROPERTY_PERCENT = 'TEST_PROPERTY_PERCENT';

/** For `fc.assert`: this many cases, or in a quick run its share of them. */
export function runs(whole: number): { readonly numRuns: number } {
  const percent = Number(process.env[PROPERTY_PERCENT] ?? '100');
  return { numRuns: Math.max(1, Math.ceil((whole * percent) / 100)) };
}

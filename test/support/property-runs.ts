/** Share of the cases of each property that a quick run checks, in percent; a whole run checks all. */
export const PROPERTY_PERCENT = 'TEST_PROPERTY_PERCENT';

/** Whether this run is to be quick rather than whole. */
export const isQuickRun = (): boolean => percentOfCases() < 100;

const percentOfCases = (): number => Number(process.env[PROPERTY_PERCENT] ?? '100');

/** For `fc.assert`: this many cases, or in a quick run its share of them. */
export function runs(whole: number): { readonly numRuns: number } {
  return { numRuns: Math.max(1, Math.ceil((whole * percentOfCases()) / 100)) };
}

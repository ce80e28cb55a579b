/**
 * A bound ends what hangs and judges nothing, so what waits is given many times what a quiet machine needs: a machine at
 * work may well be ten times as slow. Bounds are written as what is usual, and stretched where they are waited for.
 */
const PATIENCE = 10;

/** So long may last what usually takes `usualMs` at the most. */
export const patiently = (usualMs: number): number => PATIENCE * usualMs;

/** For `vi.waitFor` and `expect.poll`. */
export const PATIENT = { timeout: patiently(10_000), interval: 20 } as const;

import { expect } from 'vitest';
import { z } from 'zod';
import type { Fleet } from './fleet.ts';

const Verified = z.object({
  counts: z.object({ decisions: z.int(), verified: z.int(), removals: z.int() }),
  deviations: z.object({ total: z.int() }),
});

/** Decides all again that this fleet has decided so far, and follows every command and removal. */
export async function expectVerified(fleet: Fleet): Promise<void> {
  const { counts, deviations } = Verified.parse(
    JSON.parse(await fleet.cli(['audit', 'verify', '-o', 'json'])),
  );
  expect(deviations.total).toBe(0);
  expect(counts.removals).toBeGreaterThan(0);
  expect(counts.verified).toBe(counts.decisions);
}

/** What became of an object, in the words that an operator reads. */
export const explained = (fleet: Fleet, name: string): Promise<string> =>
  fleet.cli(['audit', 'explain', name]);

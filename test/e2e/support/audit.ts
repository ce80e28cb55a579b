import { expect } from 'vitest';
import { z } from 'zod';
import { fleetgc } from '../../cli/fleetgc.ts';
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

/** Archives the log of the fleet; what it returns explains from the archive alone, without any broker. */
export async function archived(fleet: Fleet, directory: string): Promise<(name: string) => Promise<string>> {
  await fleet.cli(['audit', 'archive', '--to', directory]);
  return async (name) => {
    const asked = ['audit', 'explain', name, '--log', 'archive', '--archive', directory];
    const { exitCode, stdout, stderr } = await fleetgc(asked);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    return stdout;
  };
}

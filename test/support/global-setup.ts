import { sweepLeftovers } from './cleanup.ts';
import { ensureDocker } from './toolchain/docker.ts';

/** Runs once before the suites that use containers, in vitest's main process. */
export async function setup(): Promise<void> {
  process.env.FLEETGC_TEST_OWNER ??= String(process.pid);
  await ensureDocker();
  await sweepLeftovers();
}

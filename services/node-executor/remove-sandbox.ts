import type { ListedSandbox } from '../shared/cri/listing-types.ts';
import type { RuntimeRemover } from '../shared/cri/port.ts';
import { type Attempt, attempt, failed, isNotFound } from './attempt.ts';

export interface SandboxRemover {
  readonly runtime: Pick<RuntimeRemover, 'stopSandbox' | 'removeSandbox'>;
  /** Looks again, since a stop may take long: the verdict when the sandbox may not go any more. */
  readonly lookAgain: () => Promise<Attempt | undefined>;
}

/** Stops, and removes only what was stopped (H6, K9). */
export async function removeSandbox(
  { id }: ListedSandbox,
  { runtime, lookAgain }: SandboxRemover,
): Promise<Attempt> {
  try {
    await runtime.stopSandbox(id);
  } catch (error) {
    if (!isNotFound(error)) return failed('stop-failed', error);
  }
  return (await lookAgain()) ?? attempt(() => runtime.removeSandbox(id));
}

import type { ListedSandbox } from '../../../packages/cri/listing-types.ts';
import type { RuntimeRemover } from '../../../packages/cri/port.ts';
import type { LookAgain } from '../checks/second-look.ts';
import { type Attempt, after, attempt, failed, isNotFound } from './attempt.ts';

interface SandboxRemover {
  readonly runtime: Pick<RuntimeRemover, 'stopSandbox' | 'removeSandbox'>;
  /** Looks again, since a stop may take long: the verdict when the sandbox may not go any more. */
  readonly lookAgain: LookAgain;
}

/** Stops, and removes only what was stopped (H6, K9). */
export async function removeSandbox({ id }: ListedSandbox, remover: SandboxRemover): Promise<Attempt> {
  const { runtime } = remover;
  try {
    await runtime.stopSandbox(id);
  } catch (error) {
    if (!isNotFound(error)) return failed('stop-failed', error);
    return removeStopped(id, remover);
  }
  return after('stopped', await removeStopped(id, remover));
}

async function removeStopped(id: string, { runtime, lookAgain }: SandboxRemover): Promise<Attempt> {
  const again = await lookAgain();
  return 'outcome' in again ? again : attempt(() => runtime.removeSandbox(id));
}

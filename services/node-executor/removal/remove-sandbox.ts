import type { ListedSandbox } from '../../../packages/cri/listing-types.ts';
import type { RuntimeRemover } from '../../../packages/cri/port.ts';
import type { JudgeAgain } from '../checks/judge-object.ts';
import { type Attempt, after, attempt, failed, isNotFound } from './removal-attempt.ts';

interface SandboxRemover {
  readonly runtime: Pick<RuntimeRemover, 'stopSandbox' | 'removeSandbox'>;
  /** Asked after a stop, which may take long: what came of it when the sandbox may not go any more. */
  readonly judgeAgain: JudgeAgain;
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

async function removeStopped(id: string, { runtime, judgeAgain }: SandboxRemover): Promise<Attempt> {
  const again = await judgeAgain();
  return 'outcome' in again ? again : attempt(() => runtime.removeSandbox(id));
}

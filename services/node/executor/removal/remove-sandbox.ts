import type { ListedSandbox } from '../../../../packages/cri/listing-types.ts';
import type { RuntimeRemover } from '../../../../packages/cri/port.ts';
import { type FreshFacts, factsAlone } from '../checks/fresh-facts.ts';
import { type Attempt, after, attempt, failed, isNotFound } from './removal-attempt.ts';

interface SandboxRemover {
  readonly runtime: Pick<RuntimeRemover, 'stopSandbox' | 'removeSandbox'>;
  readonly fresh: FreshFacts;
}

/** Stops, and removes only what was stopped (H6, K9). */
export async function removeSandbox({ id }: ListedSandbox, remover: SandboxRemover): Promise<Attempt> {
  const { runtime, fresh } = remover;
  const before = await fresh.confirm(factsAlone);
  if ('outcome' in before) return before;
  try {
    await runtime.stopSandbox(id);
  } catch (error) {
    if (!isNotFound(error)) return failed('stop-failed', error);
    fresh.outdate();
    return removeStopped(id, remover);
  }
  fresh.outdate();
  return after('stopped', await removeStopped(id, remover));
}

async function removeStopped(id: string, { runtime, fresh }: SandboxRemover): Promise<Attempt> {
  const facts = await fresh.confirm(factsAlone);
  return 'outcome' in facts ? facts : attempt(() => runtime.removeSandbox(id));
}

import type { RuntimeImage, RuntimeReader, RuntimeRemover } from '../../../../packages/cri/port.ts';
import type { Sleep } from '../../../../packages/process/backoff.ts';
import { type Attempt, attempt, failed, REMOVED } from './removal-attempt.ts';

/** A runtime may answer a moment before its list shows it. */
const LISTED_AGAIN_AFTER_MS = 200;

interface ImageRemover {
  readonly runtime: Pick<RuntimeReader, 'listImages'> & Pick<RuntimeRemover, 'removeImage'>;
  readonly sleep: Sleep;
}

/** An image counts as removed only when a fresh listing lacks it, and then also when the call failed or took too long. */
export async function removeImage({ id }: RuntimeImage, { runtime, sleep }: ImageRemover): Promise<Attempt> {
  const called = await attempt(() => runtime.removeImage(id));
  if (called.outcome === 'not-found') return called;
  try {
    if (!(await isListed(id, runtime))) return REMOVED;
    if (called.outcome !== 'removed') return called;
    await sleep(LISTED_AGAIN_AFTER_MS);
    return (await isListed(id, runtime)) ? STILL_LISTED : REMOVED;
  } catch (error) {
    return called.outcome === 'removed' ? failed('runtime-error', error) : called;
  }
}

const STILL_LISTED: Attempt = {
  outcome: 'failed',
  reason: 'still-listed',
  message: 'the runtime reported the image as removed and lists it still',
};

const isListed = async (id: string, { listImages }: Pick<RuntimeReader, 'listImages'>): Promise<boolean> =>
  (await listImages()).some((image) => image.id === id);

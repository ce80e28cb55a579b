import type { RuntimeReader, RuntimeRemover } from '../../../packages/cri/port.ts';
import type { Sleep } from '../../../packages/process/back-off.ts';
import type { LookAgain, Removable, RuntimeFacts } from '../checks/second-look.ts';
import type { LogRoots } from '../node-files.ts';
import type { Attempt } from './attempt.ts';
import { removeContainer } from './remove-container.ts';
import { removeImage } from './remove-image.ts';
import { removeLogSymlink, removePodLogDirectory } from './remove-log.ts';
import { removeSandbox } from './remove-sandbox.ts';

export interface ObjectRemover {
  readonly runtime: RuntimeReader & RuntimeRemover;
  readonly logs: LogRoots;
  readonly sleep: Sleep;
}

/** Removes what the second look let pass. Never rejects. */
export function removeObject(
  object: Removable,
  { listing }: RuntimeFacts,
  remover: ObjectRemover,
  lookAgain: LookAgain,
): Promise<Attempt> {
  switch (object.kind) {
    case 'image':
      return removeImage(object.image, remover);
    case 'container':
      return removeContainer(object.container, listing.containers, { ...remover, lookAgain });
    case 'sandbox':
      return removeSandbox(object.sandbox, { runtime: remover.runtime, lookAgain });
    case 'pod-log-directory':
      return removePodLogDirectory(object, remover.logs);
    case 'log-symlink':
      return removeLogSymlink(object.name, listing, remover.logs);
  }
}

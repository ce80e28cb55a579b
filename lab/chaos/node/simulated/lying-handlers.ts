import type { CriHandlers } from '../../../../packages/cri/server.ts';
import type { Remove } from '../removal-faults.ts';

/** CRI with what its calls that remove do beside that. */
export const lyingHandlers = (handlers: CriHandlers, remove: Remove): CriHandlers => ({
  ...handlers,
  removeImage: (request) =>
    remove('removeImage', request.image?.image ?? '', () => handlers.removeImage(request)),
  removeContainer: (request) =>
    remove('removeContainer', request.containerId, () => handlers.removeContainer(request)),
  removePodSandbox: (request) =>
    remove('removePodSandbox', request.podSandboxId, () => handlers.removePodSandbox(request)),
});

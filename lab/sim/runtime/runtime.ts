import { EventEmitter } from 'node:events';
import type { RuntimeContainerEvent } from '../../../packages/cri/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createImageStore, type ImageStore } from './image-store.ts';
import type { ContainerRequest } from './objects.ts';
import { createPodStore, type PodStore } from './pod-store.ts';
import type { RuntimeParts } from './runtime-parts.ts';

export type ContainerEvents = EventEmitter<{ container: [RuntimeContainerEvent] }>;

/** What a simulated runtime holds, and what can be done with it. */
export interface SimulatedRuntime extends ImageStore, Omit<PodStore, 'createContainer'> {
  /** Rejects with `RUNTIME_NOT_FOUND` when the image is not there. */
  createContainer(request: ContainerRequest): string;
  readonly sandboxImage: string;
  /** Containers of containerd that CRI does not list: the name of the image by id. */
  readonly otherContainers: Map<string, string>;
  readonly events: ContainerEvents;
}

export function createRuntime(parts: RuntimeParts): SimulatedRuntime {
  const events: ContainerEvents = new EventEmitter();
  const pods = createPodStore(parts, (containerId, kind) => {
    events.emit('container', { containerId, kind });
    if (kind === 'deleted') images.releaseUnused();
  });
  const images = createImageStore(parts, (imageId) =>
    [...pods.containers.values()].some((container) => container.imageId === imageId),
  );
  return {
    ...pods,
    ...images,
    events,
    sandboxImage: parts.sandboxImage,
    otherContainers: new Map(),
    createContainer: (request) => {
      const image = images.findImage(request.image);
      if (image) return pods.createContainer(request, image);
      throw new FleetGcError('RUNTIME_NOT_FOUND', `image "${request.image}": not found`);
    },
  };
}

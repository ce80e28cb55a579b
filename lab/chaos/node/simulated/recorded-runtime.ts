import type { SimulatedRuntime } from '../../../sim/runtime/runtime.ts';
import type { WriteTruth } from '../../truth.ts';

export interface Recording {
  readonly write: WriteTruth;
  /** The disk as it is now, of the runtime's own account. */
  readonly usedPercent: () => number;
  /** Called after each change. */
  readonly changed: () => void;
}

/** The runtime as one hand holds it: what changes is written down, with whose hand it was. */
export function recordedRuntime(
  runtime: SimulatedRuntime,
  by: 'cri' | 'life',
  recording: Recording,
): SimulatedRuntime {
  return {
    ...runtime,
    ...images(runtime, by, recording),
    ...sandboxes(runtime, by, recording),
    ...containers(runtime, by, recording),
  };
}

function images(runtime: SimulatedRuntime, by: 'cri' | 'life', { write, usedPercent, changed }: Recording) {
  const listed = (id: string): void => {
    const image = runtime.images.get(id);
    if (!image) return;
    const { repoTags, repoDigests, sizeBytes, pinned } = image;
    write({ kind: 'image', id, names: [...repoTags, ...repoDigests], sizeBytes: Number(sizeBytes), pinned });
    changed();
  };
  return {
    addImage: (image) => {
      runtime.addImage(image);
      listed(image.id);
    },
    pullImage: async (reference) => {
      const id = await runtime.pullImage(reference);
      listed(id);
      return id;
    },
    removeImage: (reference) => {
      const image = runtime.findImage(reference);
      const usedPercentBefore = usedPercent();
      runtime.removeImage(reference);
      if (image && !runtime.images.has(image.id))
        write({ kind: 'image-gone', id: image.id, by, usedPercentBefore });
      changed();
    },
  } satisfies Partial<SimulatedRuntime>;
}

function sandboxes(runtime: SimulatedRuntime, by: 'cri' | 'life', { write, changed }: Recording) {
  const told = (id: string): void => {
    const sandbox = runtime.sandboxes.get(id);
    if (!sandbox) return;
    const { metadata, state } = sandbox;
    write({ kind: 'sandbox', id, namespace: metadata.namespace, ready: state === 'ready' });
  };
  const withContainers = (id: string): readonly string[] =>
    [...runtime.containers.values()].filter(({ sandboxId }) => sandboxId === id).map((one) => one.id);
  return {
    runSandbox: (request) => {
      const id = runtime.runSandbox(request);
      told(id);
      return id;
    },
    stopSandbox: (id) => {
      runtime.stopSandbox(id);
      for (const container of withContainers(id))
        write({ kind: 'container-state', id: container, running: false });
      told(id);
    },
    removeSandbox: (id) => {
      const wasThere = runtime.sandboxes.has(id);
      const gone = withContainers(id);
      runtime.removeSandbox(id);
      for (const container of gone) write({ kind: 'container-gone', id: container, by });
      if (wasThere) write({ kind: 'sandbox-gone', id, by });
      changed();
    },
  } satisfies Partial<SimulatedRuntime>;
}

function containers(runtime: SimulatedRuntime, by: 'cri' | 'life', { write, changed }: Recording) {
  return {
    createContainer: (request) => {
      const id = runtime.createContainer(request);
      const { metadata } = runtime.sandbox(request.sandboxId);
      const pod = { uid: metadata.uid, namespace: metadata.namespace, name: request.name };
      write({ kind: 'container', id, imageId: runtime.container(id).imageId, pod });
      changed();
      return id;
    },
    startContainer: async (id) => {
      await runtime.startContainer(id);
      write({ kind: 'container-state', id, running: true });
    },
    stopContainer: (id) => {
      runtime.stopContainer(id);
      write({ kind: 'container-state', id, running: false });
    },
    removeContainer: (id) => {
      const wasThere = runtime.containers.has(id);
      runtime.removeContainer(id);
      if (wasThere) write({ kind: 'container-gone', id, by });
      changed();
    },
  } satisfies Partial<SimulatedRuntime>;
}

import type { SimulatedNode } from '../../../lab/sim/node.ts';
import type { SimulatedImage } from '../../../lab/sim/runtime/objects.ts';
import type { PipelineTime } from './pipeline-time.ts';

export interface Guards {
  /** What was done and must never be. */
  readonly violations: readonly string[];
  /** Object id to how often it really went by a removal. */
  readonly gone: ReadonlyMap<string, number>;
  /** Lets a kubelet, which may stop what runs, act for once. */
  byKubelet<T>(act: () => T): T;
}

export interface GuardRules {
  readonly minimumAgeMs: number;
  readonly isKept: (image: SimulatedImage) => boolean;
}

/** Watches the runtime itself, at the moment of each removal, with what the simulated runtime itself knows. */
export function guard({ runtime }: SimulatedNode, time: PipelineTime, rules: GuardRules): Guards {
  const violations: string[] = [];
  const gone = new Map<string, number>();
  const sinceMs = new Map<string, number>();
  let isKubelet = false;
  const must = (holds: boolean, what: string): void => {
    if (!holds && !isKubelet) violations.push(what);
  };
  const remove = (id: string, isThere: () => boolean, act: () => void): void => {
    const was = isThere();
    act();
    if (was && !isThere()) gone.set(id, (gone.get(id) ?? 0) + 1);
  };
  const { addImage, pullImage, removeImage, removeContainer, removeSandbox, stopSandbox, stopContainer } =
    runtime;
  const born = (id: string): void => {
    if (!sinceMs.has(id)) sinceMs.set(id, time.now().sinceBootMs);
  };

  runtime.addImage = (image) => {
    addImage(image);
    born(image.id);
  };
  runtime.pullImage = async (reference) => {
    const id = await pullImage(reference);
    born(id);
    return id;
  };
  runtime.removeImage = (reference) => {
    const image = runtime.findImage(reference);
    if (!image) return removeImage(reference);
    const name = image.repoTags.join(' ') || image.id;
    const ageMs = time.now().sinceBootMs - (sinceMs.get(image.id) ?? 0);
    const user = [...runtime.containers.values()].find(({ imageId }) => imageId === image.id);
    must(user === undefined, `image ${name} is in use by container ${user?.id}`);
    must(!image.pinned, `image ${name} is pinned`);
    must(!rules.isKept(image), `image ${name} is to be kept`);
    must(image.repoDigests.length > 0, `image ${name} has no digest`);
    must(ageMs >= rules.minimumAgeMs, `image ${name} is ${ageMs} ms old`);
    remove(
      image.id,
      () => runtime.images.has(image.id),
      () => removeImage(reference),
    );
    if (!runtime.images.has(image.id)) sinceMs.delete(image.id);
  };
  runtime.stopContainer = (id) => {
    must(runtime.containers.get(id)?.state !== 'running', `container ${id} runs and is stopped`);
    stopContainer(id);
  };
  runtime.removeContainer = (id) => {
    must(runtime.containers.get(id)?.state !== 'running', `container ${id} runs`);
    remove(
      id,
      () => runtime.containers.has(id),
      () => removeContainer(id),
    );
  };
  runtime.stopSandbox = (id) => {
    must(runtime.sandboxes.get(id)?.state !== 'ready', `sandbox ${id} is ready and is stopped`);
    stopSandbox(id);
  };
  runtime.removeSandbox = (id) => {
    must(runtime.sandboxes.get(id)?.state !== 'ready', `sandbox ${id} is ready`);
    const member = [...runtime.containers.values()].find(({ sandboxId }) => sandboxId === id);
    must(member === undefined, `sandbox ${id} has container ${member?.id}`);
    remove(
      id,
      () => runtime.sandboxes.has(id),
      () => removeSandbox(id),
    );
  };
  return {
    violations,
    gone,
    byKubelet: (act) => {
      isKubelet = true;
      try {
        return act();
      } finally {
        isKubelet = false;
      }
    },
  };
}

import { sizeOf, writeLog } from '../runtime/logs.ts';
import { type LifeEvent, startFailed, type World } from './life-world.ts';
import { evenChoice } from './random.ts';

const LOG_GROWTH_BYTES = 3_000_000;

/** One running pod meets its fate, with the given chance. */
export function happens(
  world: World,
  chance: number,
  act: (world: World, uid: string) => 'crashed' | 'finished' | 'deleted',
): LifeEvent[] {
  const running = [...world.node.kubelet.pods.values()].filter(({ phase }) => phase === 'Running');
  const pod = evenChoice(world.random, running);
  if (world.random() >= chance || !pod) return [];
  return [{ kind: act(world, pod.uid), pod: pod.name }];
}

export function crash({ node }: World, uid: string): 'crashed' {
  node.kubelet.crashPod(uid);
  return 'crashed';
}

export function finish({ node }: World, uid: string): 'finished' {
  node.kubelet.finishPod(uid);
  return 'finished';
}

export function remove({ node }: World, uid: string): 'deleted' {
  node.kubelet.deletePod(uid);
  return 'deleted';
}

/** One after the other, so that ids come in the same order in every run. */
export async function restartCrashed({ node: { kubelet } }: World): Promise<LifeEvent[]> {
  const crashed = [...kubelet.pods.values()].filter(
    ({ uid, phase }) => phase === 'Running' && kubelet.hasStopped(uid),
  );
  const failed: LifeEvent[] = [];
  for (const { uid, images } of crashed)
    await kubelet
      .restartContainers(uid)
      .catch((error: unknown) => failed.push(startFailed(images.join(', '), error)));
  return failed;
}

export async function growLogs({ node, random }: World): Promise<void> {
  for (const { state, logFile } of node.runtime.containers.values())
    if (state === 'running' && logFile !== '')
      await writeLog(logFile, sizeOf(logFile) + BigInt(Math.floor(random() * LOG_GROWTH_BYTES)));
}

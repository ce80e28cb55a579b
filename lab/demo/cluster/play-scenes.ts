import { FleetGcError } from '../../../packages/process/errors.ts';
import { LinkedController } from '../../../packages/process/linked-controller.ts';
import type { Sources } from '../../../packages/process/system-sources.ts';
import type { Deeds } from '../../sim/api-server/deeds.ts';
import type { Scene } from './scenes.ts';
import type { ClusterNews } from './watch-cluster.ts';

/** Longer than any machine should take for one. */
const LONGEST_SCENE_MS = 120_000;

/** What has been settled so far, for whoever waits for it. */
export class Settled {
  readonly #settled = new Set<string>();
  #onNews: () => void = () => undefined;

  note({ ends }: ClusterNews): void {
    for (const each of ends) this.#settled.add(each);
    this.#onNews();
  }

  /** Resolves to whether all of it is settled: `false` when the signal aborted before. */
  async all(ends: readonly string[], signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const look = (): void => {
      if (ends.every((each) => this.#settled.has(each))) resolve(true);
    };
    const stop = (): void => resolve(false);
    this.#onNews = look;
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    look();
    const isSettled = await promise;
    signal.removeEventListener('abort', stop);
    this.#onNews = () => undefined;
    return isSettled;
  }
}

export interface Playing {
  readonly deeds: Deeds;
  readonly settled: Settled;
  readonly announce: (scene: Scene) => void;
  readonly sources: Pick<Sources, 'wait'>;
}

/** One after the other: what follows from one is told before the next begins. Throws `TIMEOUT`. */
export async function playScenes(
  scenes: readonly Scene[],
  { deeds, settled, announce, sources }: Playing,
  signal: AbortSignal,
): Promise<void> {
  for (const scene of scenes) {
    announce(scene);
    scene.act(deeds);
    using bounded = new LinkedController(signal);
    void sources.wait(LONGEST_SCENE_MS, bounded.signal).then(() => bounded.abort());
    const isSettled = await settled.all(scene.ends, bounded.signal);
    const isLate = !isSettled && !signal.aborted;
    bounded.abort();
    if (isLate) throw tooSlow(scene);
    if (!isSettled) return;
  }
}

const tooSlow = ({ command }: Scene): FleetGcError =>
  new FleetGcError(
    'TIMEOUT',
    `what follows from "${command}" was not told within ${LONGEST_SCENE_MS / 1000} s; is this machine very busy?`,
  );

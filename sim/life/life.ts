import type { SimulatedNode } from '../node/node.ts';
import { deploy } from './deployments.ts';
import { CHANCE, type LifeEvent, type LifeOptions, type World } from './life-world.ts';
import { crash, finish, growLogs, happens, remove, restartCrashed } from './mishaps.ts';
import { seededRandom } from './random.ts';

/** A busy node: deployments, crashes and logs, one step at a time. */
export interface Life {
  /** Lets a little happen. Does not reject for what a full disk or a removed object does. */
  step(): Promise<readonly LifeEvent[]>;
}

export function createLife(options: LifeOptions): Life {
  const world: World = {
    ...options,
    random: seededRandom(options.seed),
    releases: new Map(),
    deployments: 0,
  };
  return {
    step: async () => {
      const events = [
        ...(await restartCrashed(world)),
        ...(await deploy(world)),
        ...happens(world, CHANCE.crash, crash),
        ...happens(world, CHANCE.finish, finish),
        ...happens(world, CHANCE.delete, remove),
      ];
      await growLogs(world);
      return events;
    },
  };
}

/** Takes a step at each tick, until there are no more. */
export async function live(
  life: Life,
  ticks: AsyncIterable<unknown>,
  tell: (events: readonly LifeEvent[]) => void,
): Promise<void> {
  for await (const _ of ticks) tell(await life.step());
}

/** Takes steps until the disk is used to `percent`, at most `maximumSteps`. */
export async function liveUntilUsed(
  life: Life,
  node: SimulatedNode,
  { percent, maximumSteps }: { readonly percent: number; readonly maximumSteps: number },
): Promise<void> {
  for (let step = 0; step < maximumSteps && (await usedPercent(node)) < percent; step += 1) await life.step();
}

async function usedPercent({ filesystems }: SimulatedNode): Promise<number> {
  const { imagefs } = await filesystems.read();
  if (!imagefs?.capacityBytes || !imagefs.availableBytes) return 0;
  return 100 - Number((BigInt(imagefs.availableBytes) * 100n) / BigInt(imagefs.capacityBytes));
}

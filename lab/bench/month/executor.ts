import type { Output } from '../../../packages/decision/handler.ts';
import type { Command } from '../../../schemas/events/command.ts';
import { REMOVALS } from '../../../schemas/events/object-kinds.ts';
import type { Measured, ObjectOutcome } from '../../../schemas/events/result.ts';
import type { ItemProgress } from '../../../services/node/executor/journal.ts';
import {
  afterCommand,
  commandDone,
  objectResult,
  resultOutput,
} from '../../../services/node/executor/reports.ts';
import { drop } from '../../sim/fleet/node.ts';
import { logDirectoryName } from './facts.ts';
import { usedImages } from './life.ts';
import { availableBytes, instantOf, type NodePod, type World } from './world.ts';

/** What an executor publishes, and how long after the one before. */
export interface Done {
  readonly output: Output;
  readonly afterMs: number;
}

const REMOVAL_MS = 180;
/** Some removals take longer. */
const SPREAD_MS = 900;

/** Carries a command out on the node as it is, and tells what an executor would. */
export function carryOut(world: World, command: Command, beginMs: number): readonly Done[] {
  const done: Done[] = [];
  const progress: ItemProgress[] = [];
  const beforeBytes = availableBytes(world);
  let atMs = beginMs;
  const reporter = () => ({ identity: world.identity, at: instantOf(world, atMs), journal: 'disk' }) as const;
  for (const [index, item] of command.items.entries()) {
    const durationMs = REMOVAL_MS + Math.floor(world.random() * SPREAD_MS);
    const result = outcomeOf(world, command, item, durationMs);
    const afterMs = result.outcome === 'removed' ? durationMs : 1;
    atMs += afterMs;
    progress.push({ state: 'done', outcome: result.outcome });
    done.push({ output: resultOutput(objectResult(reporter(), command, { index, item }, result)), afterMs });
  }
  const measured = measuredOf(command, beforeBytes, availableBytes(world));
  const ending = { items: progress, measured, targetReached: reached(world, command) };
  done.push({ output: resultOutput(commandDone(reporter(), command, ending)), afterMs: 1 });
  const availableNow = availableBytes(world);
  const next = afterCommand(command, {
    ...ending,
    availableNow,
    at: instantOf(world, atMs),
    isHolding: false,
  });
  if (next !== undefined) done.push({ output: resultOutput(next), afterMs: 1 });
  return done;
}

type Item = Command['items'][number];

function outcomeOf(world: World, command: Command, item: Item, durationMs: number): ObjectOutcome {
  if (reached(world, command) === true)
    return { outcome: 'not-needed', message: 'the target was reached before it' };
  const beforeBytes = availableBytes(world);
  if (item.kind === 'image' && usedImages(world).has(item.id))
    return { outcome: 'refused', reason: 'in-use', message: 'a container uses it' };
  if (!remove(world, item)) return { outcome: 'not-found' };
  const measured = measuredOf(command, beforeBytes, availableBytes(world));
  const estimatedBytes = item.kind === 'image' ? item.estimatedBytes : null;
  return { outcome: 'removed', measured, estimatedBytes, durationMs };
}

const reached = (world: World, { reclaim }: Command): boolean | null =>
  reclaim === null ? null : availableBytes(world) >= BigInt(reclaim.target.atLeast);

const measuredOf = (command: Command, beforeBytes: bigint, afterBytes: bigint): Measured => ({
  filesystem: command.reclaim?.target.filesystem ?? REMOVALS[command.kind].filesystem,
  beforeBytes: String(beforeBytes),
  afterBytes: String(afterBytes),
});

/** Whether it was there. */
function remove(world: World, { kind, id }: Item): boolean {
  switch (kind) {
    case 'image':
      return drop(world, id);
    case 'container':
      return removeContainer(world, id);
    case 'sandbox':
      return removeSandbox(world, id);
    case 'pod-log-directory':
      return removeLogs(world, id);
    case 'log-symlink':
      return false;
  }
}

function removeContainer(world: World, id: string): boolean {
  return change(world, (pod) => {
    const [name] = [...pod.containers].find(([, container]) => container.id === id) ?? [];
    return name !== undefined && pod.containers.delete(name);
  });
}

const removeSandbox = (world: World, id: string): boolean =>
  change(world, (pod) => {
    const isThere = pod.sandboxId === id && pod.hasSandbox;
    if (isThere) pod.hasSandbox = false;
    return isThere;
  });

const removeLogs = (world: World, name: string): boolean =>
  change(world, (pod) => {
    const isThere = logDirectoryName(pod) === name && pod.hasLogs;
    if (isThere) pod.hasLogs = false;
    return isThere;
  });

/** Takes something of the pod that has it; with its last trace a pod is gone. */
function change({ pods }: World, take: (pod: NodePod) => boolean): boolean {
  const pod = [...pods.values()].find(take);
  if (pod === undefined) return false;
  if (pod.isGone && pod.containers.size === 0 && !pod.hasSandbox && !pod.hasLogs) pods.delete(pod.uid);
  return true;
}

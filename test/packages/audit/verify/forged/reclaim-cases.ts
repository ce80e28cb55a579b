import type { DeviationKind } from '../../../../../packages/audit/verify/findings.ts';
import { reclaimContinues, unrelievedId } from '../../../../../packages/decision/result-ids.ts';
import type { Command } from '../../../../../schemas/events/command.ts';
import type { Reclaim } from '../../../../../schemas/events/reclaim.ts';
import type { PressureUnrelieved, ReclaimContinues } from '../../../../../schemas/events/result.ts';

/** A command of a reclaim. */
export type Reclaiming = Command & { readonly reclaim: Reclaim };

/** What somebody publishes as if an executor went on from a command, and what is said of it. */
export interface GoingOn {
  readonly name: string;
  readonly make: (command: Reclaiming) => ReclaimContinues | PressureUnrelieved;
  readonly kind: DeviationKind | null;
}

const goingOn = (command: Reclaiming, over: Partial<Reclaim> = {}): ReclaimContinues =>
  reclaimContinues(command, {
    reclaim: { ...command.reclaim, round: command.reclaim.round + 1, ...over },
    takenAt: command.takenAt,
    availableNow: '1',
  });

const fact = (command: Reclaiming, over: Partial<PressureUnrelieved> = {}): PressureUnrelieved => ({
  type: 'fleetgc.node.pressure-unrelieved',
  version: 1,
  id: unrelievedId(command.id),
  cluster: command.cluster,
  node: command.node,
  nodeInstance: command.nodeInstance,
  takenAt: command.takenAt,
  reclaim: command.reclaim,
  availableNow: '1',
  holders: holdersOf(command),
  ...over,
});

const holdersOf = (command: Command) => (command.kind === 'image-removal' ? command.holders : []);

const doubled = ({ target }: Reclaim) => ({ ...target, atLeast: String(2n * BigInt(target.atLeast)) });
const elsewhere = ({ target }: Reclaim): Reclaim['target'] => ({
  ...target,
  filesystem: target.filesystem === 'nodefs' ? 'imagefs' : 'nodefs',
});

const CONTINUES = [
  { name: 'a reclaim goes on', make: (command) => goingOn(command), kind: null },
  {
    name: 'a reclaim goes on for twice the target',
    make: (command) => goingOn(command, { target: doubled(command.reclaim) }),
    kind: 'output-differs',
  },
  {
    name: 'a reclaim goes on for another filesystem',
    make: (command) => goingOn(command, { target: elsewhere(command.reclaim) }),
    kind: 'output-differs',
  },
  {
    name: 'a reclaim of another node goes on',
    make: (command) => ({ ...goingOn(command), node: 'web-2' }),
    kind: 'output-differs',
  },
  {
    name: 'a reclaim goes on and leaves rounds out',
    make: (command) => goingOn(command, { round: command.reclaim.round + 2 }),
    kind: 'output-differs',
  },
  {
    name: 'a reclaim goes back to containers',
    make: (command) => goingOn(command, { step: 'containers', round: 1 }),
    kind: 'output-differs',
  },
] as const satisfies readonly GoingOn[];

const FACTS = [
  { name: 'pressure unrelieved', make: (command) => fact(command), kind: null },
  {
    name: 'pressure unrelieved, with images that stayed',
    make: (command) =>
      fact(command, { holders: [...holdersOf(command), { reason: 'backing-off', objects: 1, bytes: 1 }] }),
    kind: null,
  },
  {
    name: 'another target unrelieved',
    make: (command) => fact(command, { reclaim: { ...command.reclaim, target: doubled(command.reclaim) } }),
    kind: 'output-differs',
  },
  {
    name: 'another round unrelieved',
    make: (command) => fact(command, { reclaim: { ...command.reclaim, round: 5 } }),
    kind: 'output-differs',
  },
  {
    name: 'pressure unrelieved on another node',
    make: (command) => fact(command, { node: 'web-2' }),
    kind: 'output-differs',
  },
  {
    name: 'pressure unrelieved for images that the command does not speak of',
    make: (command) =>
      fact(command, { holders: [...holdersOf(command), { reason: 'not-ours', objects: 77, bytes: 1 }] }),
    kind: 'output-differs',
  },
] as const satisfies readonly GoingOn[];

/** Each beside what is there, after the last command for images. */
export const GOING_ON: readonly GoingOn[] = [...CONTINUES, ...FACTS];

import type { Command } from '../../../schemas/command.ts';
import type { Observe } from '../../../schemas/observe.ts';
import type { Reclaim } from '../../../schemas/reclaim.ts';
import type { PressureUnrelieved } from '../../../schemas/result.ts';
import type { DeviationKind } from '../../../services/audit/verify/findings.ts';
import { nextOrder } from '../../../services/shared/next-order.ts';
import { unrelievedId } from '../../../services/shared/result-ids.ts';

/** A command of a reclaim. */
export type Reclaiming = Command & { readonly reclaim: Reclaim };

/** What somebody publishes as if an executor went on from a command, and what is said of it. */
export interface GoingOn {
  readonly name: string;
  readonly topic: 'observe' | 'results';
  readonly make: (command: Reclaiming) => Observe | PressureUnrelieved;
  readonly kind: DeviationKind | null;
}

const order = (command: Reclaiming, over: Partial<Reclaim> = {}): Observe =>
  nextOrder(command, { ...command.reclaim, round: command.reclaim.round + 1, ...over }, command.takenAt);

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

const ORDERS = [
  { name: 'an order', make: (command) => order(command), kind: null },
  {
    name: 'an order for twice the target',
    make: (command) => order(command, { target: doubled(command.reclaim) }),
    kind: 'output-differs',
  },
  {
    name: 'an order for another filesystem',
    make: (command) => order(command, { target: elsewhere(command.reclaim) }),
    kind: 'output-differs',
  },
  {
    name: 'an order to another node',
    make: (command) => ({ ...order(command), node: 'web-2' }),
    kind: 'output-differs',
  },
  {
    name: 'an order that leaves rounds out',
    make: (command) => order(command, { round: command.reclaim.round + 2 }),
    kind: 'not-decided',
  },
  {
    name: 'an order back to containers',
    make: (command) => order(command, { step: 'containers', round: 1 }),
    kind: 'not-decided',
  },
] as const satisfies readonly Omit<GoingOn, 'topic'>[];

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
] as const satisfies readonly Omit<GoingOn, 'topic'>[];

/** Each beside what is there, after the last command for images. */
export const GOING_ON: readonly GoingOn[] = [
  ...ORDERS.map((one) => ({ ...one, topic: 'observe' }) as const),
  ...FACTS.map((one) => ({ ...one, topic: 'results' }) as const),
];

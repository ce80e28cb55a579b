import { z } from 'zod';
import { POLICY_IDS } from '../fleet/policies.ts';
import { CLIENTS, NODE_NAMES, PART_NAMES } from '../fleet/shape.ts';
import { RuntimeTrouble } from '../simulated/messages.ts';

const when = {
  /** From the beginning of the schedule. */
  atMs: z.int().nonnegative(),
  /** How long it lasts; 0 for what happens at once. */
  forMs: z.int().nonnegative(),
};
const Part = z.enum(PART_NAMES);
const NodeName = z.enum(NODE_NAMES);

/** Everything that may go wrong, as data. The row of `table.ts` says how. */
export const Fault = z.discriminatedUnion('kind', [
  z.object({ ...when, kind: z.literal('kill'), part: Part }),
  z.object({ ...when, kind: z.literal('freeze'), part: Part }),
  z.object({ ...when, kind: z.literal('broker-killed') }),
  z.object({ ...when, kind: z.literal('broker-frozen') }),
  z.object({
    ...when,
    kind: z.literal('network'),
    client: z.enum(CLIENTS),
    trouble: z.discriminatedUnion('how', [
      z.object({ how: z.literal('silent') }),
      z.object({ how: z.literal('slow'), delayMs: z.int() }),
      z.object({ how: z.literal('cut'), afterBytes: z.int() }),
    ]),
  }),
  z.object({ ...when, kind: z.literal('runtime'), node: NodeName, trouble: RuntimeTrouble }),
  z.object({ ...when, kind: z.literal('policy'), policy: z.enum(POLICY_IDS) }),
  z.object({ ...when, kind: z.literal('pause'), where: z.enum(['*', ...NODE_NAMES]) }),
  z.object({ ...when, kind: z.literal('reboot'), node: NodeName }),
]);
export type Fault = z.infer<typeof Fault>;
export type FaultKind = Fault['kind'];
export type FaultOf<Kind extends FaultKind> = Extract<Fault, { readonly kind: Kind }>;

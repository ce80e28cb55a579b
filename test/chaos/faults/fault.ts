import { z } from 'zod';
import { TOPIC_NAMES } from '../../../packages/event-log/partition.ts';
import { POLICY_IDS } from '../fleet/policies.ts';
import { CLIENTS, MACHINES, NODE_NAMES, NODE_PART_NAMES, PART_NAMES, SERVICE_NAMES } from '../fleet/shape.ts';
import { CHANGES, Moment, RuntimeTrouble } from '../node/messages.ts';
import { FORGERIES, SIGNATURES } from './forgeries.ts';
import { REPEATED_TOPICS, REPETITIONS } from './messages.ts';

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
  z.object({ ...when, kind: z.literal('kill-at'), node: NodeName, moment: Moment }),
  z.object({ ...when, kind: z.literal('doubled'), part: z.enum(NODE_PART_NAMES) }),
  z.object({ ...when, kind: z.literal('freeze'), part: Part }),
  z.object({ ...when, kind: z.literal('broker-killed') }),
  z.object({ ...when, kind: z.literal('broker-frozen') }),
  /** Nothing is left of its disk. */
  z.object({ ...when, kind: z.literal('broker-full') }),
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
  z.object({
    ...when,
    kind: z.literal('repeat'),
    topic: z.enum(REPEATED_TOPICS),
    how: z.enum(REPETITIONS),
    count: z.int().positive(),
  }),
  z.object({
    ...when,
    kind: z.literal('forge'),
    node: NodeName,
    forgery: z.enum(FORGERIES),
    signature: z.enum(SIGNATURES),
  }),
  z.object({ ...when, kind: z.literal('topic-anew'), topic: z.enum(TOPIC_NAMES) }),
  z.object({ ...when, kind: z.literal('offsets-lost'), service: z.enum(SERVICE_NAMES) }),
  /** The wall clock of a machine is set, and stays so. */
  z.object({ ...when, kind: z.literal('clock'), machine: z.enum(MACHINES), offsetMs: z.int() }),
  z.object({ ...when, kind: z.literal('state-full'), node: NodeName }),
  /** Somebody archives the log, who is killed in the middle when it ends, finds a full disk, or is left alone. */
  z.object({ ...when, kind: z.literal('archive'), how: z.enum(['whole', 'killed', 'full']) }),
  z.object({ ...when, kind: z.literal('reboot'), node: NodeName }),
  /** In the middle of a command for images. */
  z.object({
    ...when,
    kind: z.literal('amid'),
    node: NodeName,
    change: z.enum(CHANGES),
    policy: z.enum(POLICY_IDS),
    slowMs: z.int(),
  }),
  /** Whenever the node takes an inventory for a reclaim. */
  z.object({
    ...when,
    kind: z.literal('forge-at'),
    node: NodeName,
    forgery: z.enum(FORGERIES),
    signature: z.enum(SIGNATURES),
    policy: z.enum(POLICY_IDS),
  }),
  /** When the node's executor publishes results. */
  z.object({
    ...when,
    kind: z.literal('publish'),
    node: NodeName,
    lost: z.enum(['request', 'answer']),
    isKilled: z.boolean(),
  }),
  /** The services get another key, and are started anew. */
  z.object({ ...when, kind: z.literal('key-rotated'), how: z.enum(['in-turn', 'at-once']) }),
  /** The services sign on with a key that counts no more, until they get another one. */
  z.object({ ...when, kind: z.literal('key-revoked'), node: NodeName }),
  /** Their key ends, and is certified anew late; the clock of a node may be set to before its end. */
  z.object({
    ...when,
    kind: z.literal('key-ended'),
    node: NodeName,
    validForMs: z.int().positive(),
    isClockBack: z.boolean(),
  }),
  /** The operator signs with another key, so long after his own was revoked. */
  z.object({ ...when, kind: z.literal('operator-revoked'), isStolen: z.boolean() }),
  /** Nothing that roots said is there, until somebody publishes it again. */
  z.object({ ...when, kind: z.literal('keys-lost') }),
]);
export type Fault = z.infer<typeof Fault>;
export type FaultKind = Fault['kind'];
export type FaultOf<Kind extends FaultKind> = Extract<Fault, { readonly kind: Kind }>;

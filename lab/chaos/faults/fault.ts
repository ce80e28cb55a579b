import { z } from 'zod';
import { POLICY_IDS } from '../fleet/policies.ts';
import { NODE_NAMES, NODES_SHAPE } from '../fleet/shape.ts';
import { CHANGES, Moment, RuntimeTrouble } from '../node/messages.ts';
import { commonFaults, when } from './common.ts';
import { FORGERIES, SIGNATURES } from './forgeries.ts';

const NodeName = z.enum(NODE_NAMES);
const COMMON = commonFaults(NODES_SHAPE);

/** Everything that may go wrong with nodes, as data. The row of `table.ts` says how. */
export const Fault = z.discriminatedUnion('kind', [
  COMMON.kill,
  z.object({ ...when, kind: z.literal('kill-at'), node: NodeName, moment: Moment }),
  COMMON.doubled,
  COMMON.freeze,
  COMMON.slow,
  COMMON.brokerKilled,
  COMMON.brokerFrozen,
  COMMON.brokerFull,
  COMMON.network,
  z.object({ ...when, kind: z.literal('runtime'), node: NodeName, trouble: RuntimeTrouble }),
  z.object({ ...when, kind: z.literal('policy'), policy: z.enum(POLICY_IDS) }),
  COMMON.pause,
  COMMON.repeat,
  z.object({
    ...when,
    kind: z.literal('forge'),
    node: NodeName,
    forgery: z.enum(FORGERIES),
    signature: z.enum(SIGNATURES),
  }),
  COMMON.topicAnew,
  COMMON.offsetsLost,
  COMMON.clock,
  z.object({ ...when, kind: z.literal('state-full'), node: NodeName }),
  COMMON.archive,
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
  COMMON.keyRotated,
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
  COMMON.operatorRevoked,
  COMMON.keysLost,
]);
export type Fault = z.infer<typeof Fault>;
export type FaultKind = Fault['kind'];
export type FaultOf<Kind extends FaultKind> = Extract<Fault, { readonly kind: Kind }>;

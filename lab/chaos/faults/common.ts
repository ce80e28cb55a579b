import { z } from 'zod';
import { TOPIC_NAMES } from '../../../packages/log/partition.ts';
import { type Shape, serviceNamesOf } from '../fleet/shape.ts';
import { REPETITIONS } from './messages.ts';

export const when = {
  /** From the beginning of the schedule. */
  atMs: z.int().nonnegative(),
  /** How long it lasts; 0 for what happens at once. */
  forMs: z.int().nonnegative(),
};

/** Faults of every kind of round, each as data, by its kind. */
export const commonFaults = (shape: Shape) =>
  ({
    kill: z.object({ ...when, kind: z.literal('kill'), part: z.enum(shape.parts) }),
    doubled: z.object({ ...when, kind: z.literal('doubled'), part: z.enum(shape.doubled) }),
    freeze: z.object({ ...when, kind: z.literal('freeze'), part: z.enum(shape.parts) }),
    /** Every process of the product gets a part of its time, as on a machine that has far too much to do. */
    slow: z.object({ ...when, kind: z.literal('slow'), factor: z.int().min(2) }),
    /** The wall clock of a machine is set, and stays so. */
    clock: z.object({
      ...when,
      kind: z.literal('clock'),
      machine: z.enum(shape.machines),
      offsetMs: z.int(),
    }),
    /** Somebody archives the log, who is killed in the middle when it ends, finds a full disk, or is left alone. */
    archive: z.object({ ...when, kind: z.literal('archive'), how: z.enum(['whole', 'killed', 'full']) }),
    brokerKilled: z.object({ ...when, kind: z.literal('broker-killed') }),
    brokerFrozen: z.object({ ...when, kind: z.literal('broker-frozen') }),
    /** Nothing is left of its disk. */
    brokerFull: z.object({ ...when, kind: z.literal('broker-full') }),
    network: z.object({
      ...when,
      kind: z.literal('network'),
      client: z.enum(shape.clients),
      trouble: z.discriminatedUnion('how', [
        z.object({ how: z.literal('silent') }),
        z.object({ how: z.literal('slow'), delayMs: z.int() }),
        z.object({ how: z.literal('cut'), afterBytes: z.int() }),
      ]),
    }),
    topicAnew: z.object({ ...when, kind: z.literal('topic-anew'), topic: z.enum(TOPIC_NAMES) }),
    offsetsLost: z.object({
      ...when,
      kind: z.literal('offsets-lost'),
      service: z.enum(serviceNamesOf(shape)),
    }),
    repeat: z.object({
      ...when,
      kind: z.literal('repeat'),
      topic: z.enum(shape.repeated),
      how: z.enum(REPETITIONS),
      count: z.int().positive(),
    }),
    pause: z.object({ ...when, kind: z.literal('pause'), where: z.enum(shape.pausable) }),
    /** The services get another key, and are started anew. */
    keyRotated: z.object({ ...when, kind: z.literal('key-rotated'), how: z.enum(['in-turn', 'at-once']) }),
    /** The operator signs with another key, so long after his own was revoked. */
    operatorRevoked: z.object({ ...when, kind: z.literal('operator-revoked'), isStolen: z.boolean() }),
    /** Nothing that roots said is there, until somebody publishes it again. */
    keysLost: z.object({ ...when, kind: z.literal('keys-lost') }),
  }) as const;

export type CommonFault = z.infer<ReturnType<typeof commonFaults>[keyof ReturnType<typeof commonFaults>]>;

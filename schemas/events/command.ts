import { z } from 'zod';
import type { ObjectKind } from './object-kinds.ts';
import { Reclaim } from './reclaim.ts';
import { ABOUT, commandHeader } from './subject-headers.ts';

/** The version of command that this release writes, and those that its executor carries out. */
export const COMMAND_VERSION = 1;
export const ACCEPTED_COMMAND_VERSIONS: readonly number[] = [COMMAND_VERSION];

/**
 * A plan holds at most so many objects; more waits for the next round.
 * @limit Objects in one node command. To change it, add a new command version.
 */
export const MAX_COMMAND_ITEMS = 50;
/** No id of a runtime is longer, and no name in a directory. */
export const MAX_OBJECT_ID_LENGTH = 255;
/** An object whose id or name takes more bytes as JSON is named by no command: characters may take six each. */
export const MAX_OBJECT_ID_BYTES = 300;
/**
 * So many objects with the longest names, and what stands around them; nothing larger is taken for a command.
 * @limit Size of a node command. `JOURNAL_BYTES` follows from it.
 */
export const MAX_COMMAND_BYTES = 48 * 1024;
/**
 * Bytes that a reclaim could not touch, by the reason. `waiting` may go in a later round, `held` once a pause or the node's own
 * file does not hold it any more; `not-images` is the space that no image accounts for.
 */
export const Holder = z.strictObject({
  reason: z.enum([
    'in-use',
    'pinned',
    'too-young',
    'kept-by-list',
    'no-digest',
    'not-ours',
    'backing-off',
    'not-believed',
    'waiting',
    'held',
    'not-images',
  ]),
  objects: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
});
export type Holder = z.infer<typeof Holder>;

const ObjectId = z.string().min(1).max(MAX_OBJECT_ID_LENGTH);

const header = {
  type: z.literal('fleetgc.node.command'),
  ...commandHeader(ABOUT.node, COMMAND_VERSION),
  reclaim: Reclaim.nullable(),
};

/** What a command says of one object, by its kind; `id` is the name of a log entry. */
const ITEMS = {
  container: z.strictObject({
    kind: z.literal('container'),
    id: ObjectId,
    rule: z.string(),
    /** Its pod counted as gone: the executor asks for the pod again, and keeps the object of one that is back. */
    podGone: z.boolean(),
  }),
  sandbox: z.strictObject({
    kind: z.literal('sandbox'),
    id: ObjectId,
    rule: z.string(),
    /** As of containers. */
    podGone: z.boolean(),
  }),
  'pod-log-directory': z.strictObject({
    kind: z.literal('pod-log-directory'),
    id: ObjectId,
    rule: z.string(),
    podUid: ObjectId,
    /** As of containers; also in profile `kubelet` logs go of a pod that the kubelet still knows (A8). */
    podGone: z.boolean(),
  }),
  'log-symlink': z.strictObject({ kind: z.literal('log-symlink'), id: ObjectId, rule: z.string() }),
  image: z.strictObject({
    kind: z.literal('image'),
    id: ObjectId,
    /** As listed. */
    sizeBytes: z.int().nonnegative(),
    /** What the plan counts its removal with, once those before it are gone (M7). */
    estimatedBytes: z.int().nonnegative(),
    rule: z.string(),
  }),
} satisfies { readonly [Kind in ObjectKind]: z.ZodType<{ kind: Kind; id: string; rule: string }> };

export const ImageRemoval = z.strictObject({
  ...header,
  kind: z.literal('image-removal'),
  /** What the executor reports when the target is out of reach. */
  holders: z.array(Holder),
  items: z.array(ITEMS.image).min(1).max(MAX_COMMAND_ITEMS),
});
export type ImageRemoval = z.infer<typeof ImageRemoval>;

/** What a whole pass takes (G1, I). One command, so that a reclaim goes on or ends once. */
export const ContainerRemoval = z.strictObject({
  ...header,
  kind: z.literal('container-removal'),
  items: z
    .array(
      z.discriminatedUnion('kind', [
        ITEMS.container,
        ITEMS.sandbox,
        ITEMS['pod-log-directory'],
        ITEMS['log-symlink'],
      ]),
    )
    .min(1)
    .max(MAX_COMMAND_ITEMS),
});
export type ContainerRemoval = z.infer<typeof ContainerRemoval>;

/**
 * Order to one node's executor, in the order in which to remove. Strict: an executor never acts on a field it does
 * not understand.
 */
export const Command = z.discriminatedUnion('kind', [ImageRemoval, ContainerRemoval]);
export type Command = z.infer<typeof Command>;

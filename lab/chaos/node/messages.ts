import { z } from 'zod';
import type { FaultyMethod } from '../../sim/runtime/faults.ts';

/** Methods that go wrong in a campaign. */
export const METHODS = [
  'listImages',
  'listContainers',
  'listPodSandbox',
  'imageStatus',
  'containerStatus',
  'imageFsInfo',
  'removeImage',
  'removeContainer',
  'listStoredContainers',
  'listContent',
] as const satisfies readonly FaultyMethod[];

/** `lie`: it does what is asked and answers with an error. */
export const RuntimeTrouble = z.discriminatedUnion('how', [
  z.object({ how: z.enum(['hang', 'half', 'error', 'lie']), method: z.enum(METHODS) }),
  /** The runtime's process is away; its disk stays. */
  z.object({ how: z.literal('away') }),
  /** What was removed takes its space for so long. */
  z.object({ how: z.literal('late'), lateMs: z.int() }),
  /** Each removal takes so long. */
  z.object({ how: z.literal('slow'), slowMs: z.int() }),
  z.object({ how: z.literal('fill'), toPercent: z.int() }),
]);
export type RuntimeTrouble = z.infer<typeof RuntimeTrouble>;

/** Where a removal stops: it was asked for, or it is done and not answered yet. */
export const Moment = z.enum(['before', 'after']);
export type Moment = z.infer<typeof Moment>;

/**
 * What changes in the middle of a command. `relieved`: somebody else frees the disk; `rolled-back`: pods start on every image
 * that is there; the others are for people to do.
 */
export const CHANGES = ['relieved', 'rolled-back', 'paused', 'policy', 'revoked'] as const;
export type Change = (typeof CHANGES)[number];

/** What the campaign tells a node. */
export const ToNode = z.discriminatedUnion('kind', [
  /** `headStart`: so many steps come at once. */
  z.object({ kind: z.literal('live'), seed: z.int(), stepMs: z.int(), headStart: z.int() }),
  /** No pods come and go any more; its disk usage goes up and down, so that nobody waits for the minute in which it is told of. */
  z.object({ kind: z.literal('rest') }),
  z.object({ kind: z.literal('trouble'), trouble: RuntimeTrouble }),
  z.object({ kind: z.literal('heal') }),
  /** The next removal stops, and says so. */
  z.object({ kind: z.literal('stop-at'), moment: Moment }),
  z.object({ kind: z.literal('go-on') }),
  /** The disk fills; when the next image is to be removed something changes, and each removal takes so long. */
  z.object({ kind: z.literal('amid'), change: z.enum(CHANGES), slowMs: z.int() }),
  z.object({ kind: z.literal('amid-over') }),
  /** The disk fills, so that something has to go; and is as it was. */
  z.object({ kind: z.literal('press') }),
  z.object({ kind: z.literal('relax') }),
  /** From now on so many images with names that nobody has seen come every `everyMs`, and those that came before go. */
  z.object({ kind: z.literal('strangers'), images: z.int(), everyMs: z.int() }),
]);
export type ToNode = z.infer<typeof ToNode>;

/** What a node tells: a removal stopped where it was told to, or the change in its middle is due. */
export const FromNode = z.enum(['ready', 'stopped', 'amid']);
export type FromNode = z.infer<typeof FromNode>;

/** What the runtime of a node is started with. */
export const NodeStart = z.object({
  name: z.string(),
  /** On a filesystem of its own. */
  diskDirectory: z.string(),
  socketPath: z.string(),
  truthPath: z.string(),
  capacityBytes: z.string(),
  /** Of a real runtime, as this machine's processes reach it; `null`: it is made up. */
  runtimeEndpoint: z.string().nullable(),
});
export type NodeStart = z.infer<typeof NodeStart>;

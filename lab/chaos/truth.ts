import { appendFileSync, readFileSync } from 'node:fs';
import { z } from 'zod';

/** Who did it: a call over CRI's socket, or the life of the node (its kubelet, or somebody with `ctr`). */
const Hand = z.enum(['cri', 'life']);

const at = { atMs: z.number() };

/** What a runtime writes down of itself, apart from everything that the product says. Times are of its own, true clock. */
export const TruthLine = z.discriminatedUnion('kind', [
  z.object({
    ...at,
    kind: z.literal('image'),
    id: z.string(),
    names: z.array(z.string()),
    sizeBytes: z.number(),
    pinned: z.boolean(),
  }),
  z.object({ ...at, kind: z.literal('image-gone'), id: z.string(), by: Hand, usedPercentBefore: z.number() }),
  z.object({
    ...at,
    kind: z.literal('container'),
    id: z.string(),
    imageId: z.string(),
    /** What is not a pod's: started beside CRI, as `ctr` does. */
    pod: z.object({ uid: z.string(), namespace: z.string(), name: z.string() }).nullable(),
  }),
  z.object({ ...at, kind: z.literal('container-state'), id: z.string(), running: z.boolean() }),
  z.object({ ...at, kind: z.literal('container-gone'), id: z.string(), by: Hand }),
  z.object({ ...at, kind: z.literal('sandbox'), id: z.string(), namespace: z.string(), ready: z.boolean() }),
  z.object({ ...at, kind: z.literal('sandbox-gone'), id: z.string(), by: Hand }),
  /** A call that removes came in; it may wait, fail, or tell something false. */
  z.object({ ...at, kind: z.literal('asked'), call: z.number(), what: z.string(), id: z.string() }),
  z.object({ ...at, kind: z.literal('answered'), call: z.number(), ok: z.boolean() }),
  z.object({ ...at, kind: z.literal('disk'), usedPercent: z.number() }),
]);
export type TruthLine = z.infer<typeof TruthLine>;

type WithoutTime<Line> = Line extends unknown ? Omit<Line, 'atMs'> : never;
/** Writes one line; it is in the file when this returns. */
export type WriteTruth = (line: WithoutTime<TruthLine>) => void;

export const truthFile =
  (path: string): WriteTruth =>
  (line) =>
    appendFileSync(path, `${JSON.stringify({ atMs: Date.now(), ...line })}\n`);

/** The whole lines of a file that may still be written to. */
export function readTruth(path: string): readonly TruthLine[] {
  const text = readFileSync(path, { encoding: 'utf8', flag: 'a+' });
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => TruthLine.parse(JSON.parse(line)));
}

import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { z } from 'zod';
import { OBJECT_KINDS } from '../../../schemas/command.ts';
import { ExplainedKind } from '../../../schemas/timeline.ts';

/** The form of an index. What names are made of belongs to it: another making is another form. */
export const NAMES_VERSION = 1;

/**
 * From which record to which: the first and the last, counted from the first of the file, and when the log got them, epoch
 * milliseconds.
 */
const Span = z.tuple([z.int(), z.int(), z.int(), z.int()]).readonly();
export type Span = z.infer<typeof Span>;

/** By the keys of nodes. */
const Spans = z.record(z.string(), Span).readonly();
export type Spans = z.infer<typeof Spans>;

/** The first line. */
const NamedNodes = z.strictObject({
  /** Nodes with any record. */
  written: z.array(z.string()),
  /** Nodes with a record that could not be read, and so may name anything. */
  unread: z.array(z.string()),
  /** Complete inventories. */
  looked: Spans,
});
export type NamedNodes = z.infer<typeof NamedNodes>;

/** An object, or a pod, as inventories list it. With another name or tag it is another line. */
const ListedName = z.strictObject({
  line: z.literal('listed'),
  kind: ExplainedKind.exclude(['node']),
  id: z.string(),
  name: z.string(),
  /** Of images. */
  repoTags: z.exactOptional(z.array(z.string())),
  repoDigests: z.exactOptional(z.array(z.string())),
  on: Spans,
});
export type ListedName = z.infer<typeof ListedName>;

/** An object that commands or results name by its id. */
const ActedName = z.strictObject({
  line: z.literal('acted'),
  kind: z.enum(OBJECT_KINDS),
  id: z.string(),
  /** Of a result; `null` of a command. */
  outcome: z.string().nullable(),
  on: Spans,
});
export type ActedName = z.infer<typeof ActedName>;

export const NameLine = z.discriminatedUnion('line', [ListedName, ActedName]);
export type NameLine = z.infer<typeof NameLine>;

/** What an index says of the records of one file. */
export interface NameLines {
  readonly nodes: NamedNodes;
  readonly lines: readonly NameLine[];
}

const NEWLINE = 10;

/** As it is kept: JSON lines, what is alike side by side, compressed. */
export function encodeNames({ nodes, lines }: NameLines): Buffer {
  const texts = lines.map((line) => JSON.stringify(line)).toSorted();
  return zstdCompressSync([JSON.stringify(nodes), ...texts].map((text) => `${text}\n`).join(''));
}

/** Lines in which one of the texts stands; `null`: every line. Throws for what is no index. */
export function searchNames(content: Buffer, texts: readonly string[] | null): NameLines {
  const plain = zstdDecompressSync(content);
  const firstEnd = plain.indexOf(NEWLINE) + 1;
  const found = linesWith(plain.subarray(firstEnd), texts ?? ['listed', 'acted']);
  return {
    nodes: NamedNodes.parse(JSON.parse(plain.toString('utf8', 0, firstEnd))),
    lines: found.map((line) => NameLine.parse(JSON.parse(line))),
  };
}

function linesWith(plain: Buffer, texts: readonly string[]): string[] {
  const found = new Map<number, string>();
  for (const text of texts) {
    const needle = Buffer.from(JSON.stringify(text).slice(1, -1));
    for (let at = plain.indexOf(needle); at >= 0; ) {
      const start = plain.lastIndexOf(NEWLINE, at) + 1;
      const end = plain.indexOf(NEWLINE, at);
      found.set(start, plain.toString('utf8', start, end));
      at = plain.indexOf(needle, end);
    }
  }
  return [...found.values()];
}

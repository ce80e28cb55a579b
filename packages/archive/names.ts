import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { z } from 'zod';
import { ObjectKind } from '../../schemas/events/object-kinds.ts';
import type { TopicId } from '../../schemas/events/topics.ts';
import { ExplainedKind } from '../../schemas/reports/timeline.ts';
import type { LogReader } from '../log/port.ts';
import { FleetGcError } from '../process/errors.ts';
import type { TimeRange } from '../records/read-log.ts';

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

const namedNodes = {
  /** Nodes with any record. */
  written: z.array(z.string()),
  /** Nodes with a record that could not be read, and so may name anything. */
  unread: z.array(z.string()),
  /** Complete inventories. */
  looked: Spans,
};
const NamedNodes = z.strictObject(namedNodes);
type NamedNodes = z.infer<typeof NamedNodes>;

/** The first line, with every span that lines have, and its node: most objects of a node have a span in common. */
const Header = z.strictObject({ ...namedNodes, spans: z.array(z.tuple([z.string(), Span])) });

/** As a line has it: by its place in the first line. */
const SpanNumbers = z.array(z.int().nonnegative());

/** An object, or a pod, as inventories list it. With another name or tag it is another line. */
const ListedLine = z.strictObject({
  kind: ExplainedKind.exclude(['node']),
  id: z.string(),
  name: z.string(),
  /** Of images. */
  repoTags: z.exactOptional(z.array(z.string())),
  repoDigests: z.exactOptional(z.array(z.string())),
  on: SpanNumbers,
});

/** An object that commands or results name by its id. */
const ActedLine = z.strictObject({
  kind: ObjectKind,
  id: z.string(),
  /** Of a result; `null` of a command. */
  outcome: z.string().nullable(),
  on: SpanNumbers,
});

const Line = z.union([ListedLine, ActedLine]);

type OnNodes<Line> = Omit<Line, 'on'> & { readonly on: Spans };
export type ListedName = OnNodes<z.infer<typeof ListedLine>>;
export type ActedName = OnNodes<z.infer<typeof ActedLine>>;
export type NameLine = ListedName | ActedName;

export const isActedName = (line: NameLine): line is ActedName => 'outcome' in line;
export const isListedName = (line: NameLine): line is ListedName => !isActedName(line);

/** What an index says of the records of one file. */
export interface NameLines {
  readonly nodes: NamedNodes;
  readonly lines: readonly NameLine[];
}

const NEWLINE = 10;
/** Names compress to a fifth. */
const USUAL_RATIO = 7;
const LEAST_ROOM_BYTES = 16 * 1024;

/** What comes out in one piece need not be put together. */
const roomFor = (content: Buffer): number =>
  Math.min(Math.max(content.length * USUAL_RATIO, LEAST_ROOM_BYTES), MOST_NAMES_BYTES);

/** Of one file, decompressed: 16 MiB of records, or one inventory of 64 MiB, have far less to say of their names. */
export const MOST_NAMES_BYTES = 256 * 1024 * 1024;

/** As it is kept: JSON lines, what is alike side by side, compressed. */
export function encodeNames({ nodes, lines }: NameLines): Buffer {
  const numbers = new Map<string, number>();
  const numberOf = (entry: readonly [string, Span]): number => {
    const key = JSON.stringify(entry);
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  };
  const texts = lines
    .map((line) => JSON.stringify({ ...line, on: Object.entries(line.on).map(numberOf) }))
    .toSorted();
  const header = `${JSON.stringify(nodes).slice(0, -1)}${SPANS}${[...numbers.keys()].join(',')}]}`;
  return zstdCompressSync([header, ...texts].map((text) => `${text}\n`).join(''));
}

/** Between what the first line says of nodes and the spans. */
const SPANS = ',"spans":[';

/**
 * Lines in which one of the texts stands; `null`: every line. Throws `ARCHIVE_CHANGED` for what is no index. An archive has thousands
 * of them, and most have none of the texts: of these the spans, which are most of the first line, are not looked at.
 */
export function searchNames(content: Buffer, texts: readonly string[] | null): NameLines {
  try {
    return searched(content, texts);
  } catch (error) {
    if (!isMalformed(error)) throw error;
    throw noIndex(problemOf(error), error);
  }
}

const noIndex = (problem: string, cause?: unknown): FleetGcError =>
  new FleetGcError('ARCHIVE_CHANGED', `it is no index of names: ${problem}`, { cause });

/** Whether what was read is to blame, and not whoever reads it. */
const isMalformed = (error: unknown): error is Error =>
  error instanceof SyntaxError ||
  error instanceof z.ZodError ||
  (error instanceof Error && 'code' in error && DECOMPRESSION.test(String(error.code)));

const DECOMPRESSION = /^(ZSTD_|Z_|ERR_BUFFER_TOO_LARGE$)/;

const problemOf = (error: Error): string =>
  error instanceof z.ZodError ? z.prettifyError(error) : error.message;

function searched(content: Buffer, texts: readonly string[] | null): NameLines {
  const plain = zstdDecompressSync(content, {
    chunkSize: roomFor(content),
    maxOutputLength: MOST_NAMES_BYTES,
  });
  const firstEnd = plain.indexOf(NEWLINE) + 1;
  const header = plain.toString('utf8', 0, firstEnd);
  const found = linesWith(plain.subarray(firstEnd), texts?.map(inJson) ?? ['"kind":']);
  if (found.length === 0) return { nodes: NamedNodes.parse(JSON.parse(withoutSpans(header))), lines: [] };
  const { spans, ...nodes } = Header.parse(JSON.parse(header));
  const spansAt = (numbers: readonly number[]): Spans =>
    Object.fromEntries(numbers.map((number) => spans[number] ?? noSpan(number)));
  return { nodes, lines: found.map((text) => lineOf(text, spansAt)) };
}

const withoutSpans = (header: string): string => `${header.slice(0, header.lastIndexOf(SPANS))}}`;

function noSpan(number: number): never {
  throw noIndex(`it has no span ${number}`);
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

function lineOf(text: string, spansAt: (numbers: readonly number[]) => Spans): NameLine {
  const line = Line.parse(JSON.parse(text));
  return { ...line, on: spansAt(line.on) };
}

function linesWith(plain: Buffer, texts: readonly string[]): string[] {
  const found = new Map<number, string>();
  for (const text of texts) {
    const needle = Buffer.from(text);
    for (let at = plain.indexOf(needle); at >= 0; ) {
      const start = plain.lastIndexOf(NEWLINE, at) + 1;
      const end = plain.indexOf(NEWLINE, at);
      found.set(start, plain.toString('utf8', start, end));
      at = plain.indexOf(needle, end);
    }
  }
  return [...found.values()];
}

export interface NameSearch {
  readonly topics: readonly TopicId[];
  readonly range: TimeRange;
  /** Only lines in which one of these stands; `null`: all. */
  readonly texts: readonly string[] | null;
}

/** What is wanted of files that the range cuts. */
export interface PartSearch extends Pick<NameSearch, 'range' | 'texts'> {
  /** Of these nodes the records in the range are read. */
  readonly keys: ReadonlySet<string>;
}

/** What the index of one file says. */
export interface FoundNames extends NameLines {
  /** Of the file. */
  readonly name: string;
  readonly topicId: TopicId;
  readonly partition: number;
  /** Whether some of its records may lie outside of the range. */
  readonly isCut: boolean;
  readonly records: number;
}

/** Knows where names stand without reading the records. What it says may be too much, and never too little. */
export interface NameIndex {
  /** By topic and partition, in the order of the log. `null`: some files of that time have no index. */
  search(search: NameSearch, signal: AbortSignal): Promise<readonly FoundNames[] | null>;
  /** The same files; those that the range cuts say of the wanted nodes what lies in it alone. */
  withinRange(
    files: readonly FoundNames[],
    search: PartSearch,
    signal: AbortSignal,
  ): Promise<readonly FoundNames[]>;
  /** The names in the last file of each partition, for those who asked for what never was. */
  lastNames(search: NameSearch, signal: AbortSignal): Promise<readonly FoundNames[]>;
  /** The same log, of these nodes alone. */
  ofNodes(keys: readonly string[]): LogReader;
}

/** A line of an index, and the file that it is about. */
export interface Found<Line> {
  readonly line: Line;
  readonly file: FoundNames;
}

/** The same for one of the nodes that it is about. */
interface OnNode<Line> extends Found<Line> {
  readonly key: string;
}

export const isListed = (found: OnNode<NameLine>): found is OnNode<ListedName> => isListedName(found.line);
export const isActed = (found: OnNode<NameLine>): found is OnNode<ActedName> => isActedName(found.line);

/** The lines that are wanted, once for each node. */
export const linesOnNodes = (
  files: readonly FoundNames[],
  isWanted: (line: NameLine) => boolean,
): OnNode<NameLine>[] =>
  files.flatMap((file) =>
    file.lines.filter(isWanted).flatMap((line) => Object.keys(line.on).map((key) => ({ key, line, file }))),
  );

import { zstdCompressSync } from 'node:zlib';
import { z } from 'zod';
import { fileName } from '../../../../packages/archive/file-names.ts';
import { ARCHIVE_VERSION, readManifest } from '../../../../packages/archive/manifest.ts';
import { searchNames } from '../../../../packages/archive/names.ts';
import { contentHash } from '../../../../packages/canonical/ids.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { NOW } from '../../../../test/fixtures/time.ts';
import { type Outcome, PASSED, REFUSED, type Target } from '../../engine/target.ts';
import { isObject, type Json, toJson } from '../../mutate/json.ts';
import { asArray, asObject, schemaOf } from '../../mutate/schema.ts';
import { edited } from './written.ts';

const effect = (what: string): Outcome => ({ passed: true, effect: what });
const Edits = z.array(z.tuple([z.int().nonnegative(), z.int().min(0).max(40), z.string()]));
const Offset = z.string().regex(/^[0-9]{1,18}$/);
const Sha256 = z.enum(['a', 'b'].map((digit) => digit.repeat(64)));

const RANGE = {
  topic: z.enum(['gc.node.inventory', 'gc.policies', 'gc.keys']),
  partition: z.int().nonnegative(),
  firstOffset: Offset,
  lastOffset: Offset,
};

/** A line without its place in the chain. */
const Content = z.union([
  z.strictObject({ kind: z.literal('archive'), version: z.literal(ARCHIVE_VERSION), begunAtMs: z.int() }),
  z.strictObject({
    kind: z.literal('file'),
    ...RANGE,
    file: z.string(),
    sha256: Sha256,
    sizeBytes: z.int().positive(),
    rows: z.int().positive(),
    oldestMs: z.int(),
    newestMs: z.int(),
    lastMs: z.int(),
    names: z.strictObject({ version: z.int(), sha256: Sha256, sizeBytes: z.int().positive() }).optional(),
  }),
  z.strictObject({ kind: z.literal('gap'), ...RANGE, notedAtMs: z.int() }),
]);

const archivedFile = (first: number, last: number) => ({
  kind: 'file',
  topic: 'gc.node.inventory',
  partition: 7,
  firstOffset: String(first),
  lastOffset: String(last),
  file: fileName(
    ARCHIVE_VERSION,
    { topic: 'gc.node.inventory', partition: 7, firstOffset: BigInt(first), lastMs: NOW },
    null,
  ),
  sha256: 'a'.repeat(64),
  sizeBytes: 100,
  rows: 3,
  oldestMs: NOW,
  newestMs: NOW,
  lastMs: NOW,
});

const manifestOf = (...lines: readonly unknown[]): Json => ({
  lines: lines.map(toJson),
  edits: [],
  chain: 'made',
});
const BEGUN = { kind: 'archive', version: ARCHIVE_VERSION, begunAtMs: NOW };

/** The lines as an archiver writes them, each with the hash of the one before it. */
function chainedLines(lines: readonly Json[]): string {
  let previous: string | null = null;
  const texts: string[] = [];
  for (const line of lines) {
    const content: Json = isObject(line) ? { ...line, previous } : line;
    const hash = hashOf(content);
    texts.push(JSON.stringify(isObject(content) ? { ...content, hash } : content));
    previous = hash;
  }
  return texts.map((text) => `${text}\n`).join('');
}

/** What is no whole text has no hash. */
function hashOf(value: Json): string {
  try {
    return contentHash(value);
  } catch {
    return '';
  }
}

const manifest: Target = {
  readers: ['audit archive', 'audit archive check', 'every audit of an archive'],
  schema: schemaOf(
    z.object({ lines: z.array(Content), chain: z.enum(['made', 'as-written']), edits: Edits }),
  ),
  seeds: () => [
    manifestOf(BEGUN, archivedFile(0, 4), archivedFile(5, 9)),
    manifestOf(BEGUN, {
      ...archivedFile(0, 4),
      names: { version: 1, sha256: 'b'.repeat(64), sizeBytes: 9 },
    }),
    manifestOf(BEGUN, {
      kind: 'gap',
      topic: 'gc.policies',
      partition: 0,
      firstOffset: '0',
      lastOffset: '3',
      notedAtMs: NOW,
    }),
  ],
  open: () => (input) => {
    const { lines, chain, edits = [] } = asObject(input);
    const text =
      chain === 'as-written'
        ? asArray(lines)
            .map((line) => `${JSON.stringify(line)}\n`)
            .join('')
        : chainedLines(asArray(lines));
    const read = readManifest(Buffer.from(edited(text, edits)));
    if (read.problems.length > 0) return REFUSED;
    return chain === 'as-written' ? effect('lines that follow on nothing are taken for an archive') : PASSED;
  },
};

const Bytes = z.array(z.tuple([z.int().nonnegative(), z.int().min(0).max(255)]));
const Span = z.tuple([z.int(), z.int(), z.int(), z.int()]);
const Kind = z.enum(['image', 'container', 'sandbox', 'pod']);
const Names = z.object({
  nodes: z.strictObject({
    written: z.array(z.string()),
    unread: z.array(z.string()),
    looked: z.record(z.string(), Span),
  }),
  spans: z.array(z.tuple([z.string(), Span])),
  lines: z.array(
    z.union([
      z.strictObject({ kind: Kind, id: z.string(), name: z.string(), on: z.array(z.int().nonnegative()) }),
      z.strictObject({
        kind: Kind.exclude(['pod']),
        id: z.string(),
        outcome: z.string().nullable(),
        on: z.array(z.int().nonnegative()),
      }),
    ]),
  ),
  edits: Edits,
  /** Of what is compressed: where, and which. */
  bytes: Bytes,
});

/** As the index is kept, whatever stands in it. */
function indexIn(input: Json): Buffer {
  const { nodes = null, spans = null, lines, edits = [], bytes } = asObject(input);
  const header = `${JSON.stringify(nodes).slice(0, -1)},"spans":${JSON.stringify(spans)}}`;
  const texts = [header, ...asArray(lines).map((line) => JSON.stringify(line))];
  const content = zstdCompressSync(edited(texts.map((text) => `${text}\n`).join(''), edits));
  for (const [at, byte] of Bytes.catch([]).parse(bytes)) content[at % content.length] = byte;
  return content;
}

const names: Target = {
  readers: ['audit explain of an archive'],
  schema: schemaOf(Names),
  seeds: () => [
    toJson({
      nodes: { written: ['prod/web-1'], unread: [], looked: { 'prod/web-1': [0, 3, NOW, NOW] } },
      spans: [['prod/web-1', [0, 3, NOW, NOW]]],
      lines: [
        { kind: 'image', id: 'sha256:a', name: 'registry.example/a:1', on: [0] },
        { kind: 'container', id: 'container-1', outcome: null, on: [0] },
      ],
      edits: [],
      bytes: [],
    }),
  ],
  open: () => (input) => {
    const content = indexIn(input);
    const all = linesIn(content, null);
    const some = linesIn(content, ['container-1']);
    if (all === null || some === null) return REFUSED;
    return some <= all ? PASSED : effect('a search finds more than there is');
  },
};

/** `null` for what is no index. Its hash stands in the manifest, so only what somebody forged is none. */
function linesIn(content: Buffer, texts: readonly string[] | null): number | null {
  try {
    return searchNames(content, texts).lines.length;
  } catch (error) {
    if (error instanceof FleetGcError && error.code === 'ARCHIVE_CHANGED') return null;
    throw error;
  }
}

export const ARCHIVE_FILES: Readonly<Record<string, Target>> = {
  'archive-manifest': manifest,
  'archive-names': names,
};

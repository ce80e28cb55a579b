import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import { CHECKOUT } from './folders.ts';

/** One change to a source. Its key names it as long as the file does not change. */
export interface Mutant {
  readonly id: string;
  readonly key: string;
  readonly file: string;
  readonly line: number;
  readonly mutator: string;
  /** The line that it stands in, without the space around it. */
  readonly snippet: string;
  readonly original: string;
  readonly replacement: string;
  readonly isSentence: boolean;
}

interface Instrumented {
  readonly mutants: readonly Mutant[];
  /** By file: its source with all of its mutants, each behind a switch. */
  readonly contents: Readonly<Record<string, string>>;
  /** By file: the hash of its source. */
  readonly hashes: Readonly<Record<string, string>>;
}

const SILENT = () => undefined;
const NO_LOGGER = {
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
  trace: SILENT,
  debug: SILENT,
  info: SILENT,
  warn: SILENT,
  error: SILENT,
  fatal: SILENT,
};

export async function instrument(files: readonly string[]): Promise<Instrumented> {
  const sources = new Map(files.map((file) => [file, readFileSync(join(CHECKOUT, file), 'utf8')]));
  const { mutants, files: instrumented } = await new Instrumenter(NO_LOGGER).instrument(
    [...sources].map(([name, content]) => ({ name, content, mutate: true })),
    { plugins: null, excludedMutations: [], ignorers: [] },
  );
  const seen = new Map<string, number>();
  return {
    mutants: mutants.map(({ id, fileName, location, mutatorName, replacement }) => {
      const source = sources.get(fileName) ?? '';
      const original = textAt(source, location);
      const same = JSON.stringify([fileName, mutatorName, original, replacement]);
      const nth = seen.get(same) ?? 0;
      seen.set(same, nth + 1);
      return {
        id,
        key: sha256(`${same} ${nth}`).slice(0, 16),
        file: fileName,
        line: location.start.line + 1,
        mutator: mutatorName,
        snippet: (source.split('\n')[location.start.line] ?? '').trim(),
        original,
        replacement,
        isSentence: mutatorName === 'StringLiteral' && SENTENCE.test(original.slice(1, -1)),
      };
    }),
    contents: Object.fromEntries(instrumented.map(({ name, content }) => [name, content])),
    hashes: Object.fromEntries([...sources].map(([file, source]) => [file, sha256(source)])),
  };
}

/** Names of the domain have no space in them: a text with a space between two words is for people. */
const SENTENCE = /[\p{L}\p{N}}][:;,.)'"]? +[('"]?[\p{L}\p{N}$]/u;

interface Position {
  readonly line: number;
  readonly column: number;
}

function textAt(
  source: string,
  { start, end }: { readonly start: Position; readonly end: Position },
): string {
  const lines = source.split('\n');
  const offset = ({ line, column }: Position): number =>
    lines.slice(0, line).reduce((length, each) => length + each.length + 1, 0) + column;
  return source.slice(offset(start), offset(end));
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

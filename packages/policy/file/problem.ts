/** A place in a file, counted from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Something that is wrong with a policy file, or worth knowing about it, and where. */
export interface Problem extends Place {
  /** The setting, as in `keep.digests[0]`; empty when the problem is about the policy as a whole. */
  readonly path: string;
  readonly message: string;
  /** Lines below the message, of a policy to write in its place. */
  readonly lines?: readonly string[];
}

export const problemText = ({ file, line, column, path, message }: Problem): string =>
  `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}${message}`;

/** In the order in which a reader meets them. */
export const byPlace = (a: Problem, b: Problem): number => a.line - b.line || a.column - b.column;

/** `['keep', 'digests', 0]` becomes `keep.digests[0]`. */
export const pathText = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : `${text}${text === '' ? '' : '.'}${String(part)}`,
    '',
  );

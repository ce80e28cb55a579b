import { z } from 'zod';

/** A name of an image has at most 255 characters of repository, and 128 of tag or a digest. */
export const MAX_GLOB_LENGTH = 512;
export const MAX_GLOB_WILDCARDS = 16;
/** Of one list: each name is held against all of them. */
export const MAX_GLOBS = 1_000;
export const TOO_MANY_GLOBS = `must have at most ${MAX_GLOBS} patterns`;

/** The parts of a pattern, wildcards at the odd places. `**` has a slash with it where it stands for whole parts of a name. */
const partsOf = (pattern: string): readonly string[] =>
  pattern.split(/((?<=^|\/)\*\*\/|(?:\/\*\*)+$|\*+|\?)/);

/** A pattern as people write it. What has a meaning elsewhere and none here is refused: as a letter it would match nothing. */
export const globWritten = (error: string) =>
  z
    .string({ error })
    .min(1, { error })
    .max(MAX_GLOB_LENGTH, { error: `must have at most ${MAX_GLOB_LENGTH} characters` })
    .refine((written) => !written.startsWith('!'), {
      error: 'must not start with an exclamation mark: a list has no exceptions',
    })
    .refine((written) => !/[()[\]{}|\\]/.test(written), {
      error: 'must have no wildcards but *, ** and ?; in place of brackets write a pattern for each case',
    })
    .refine((written) => partsOf(written).length <= 2 * MAX_GLOB_WILDCARDS + 1, {
      error: `must have at most ${MAX_GLOB_WILDCARDS} wildcards`,
    });

export const Globs = z
  .array(globWritten('must be a pattern'), { error: 'must be a list of patterns' })
  .max(MAX_GLOBS, { error: TOO_MANY_GLOBS });

/** What the parts up to one match of a name: `ends[n]` is 1 where that is its first n characters. */
type Ends = Uint8Array;
type Part = (name: string, before: Ends) => Ends;

/**
 * `*` and `?` stop at a slash, `**` does not; `a/**` is `a` too. A name is gone through once for each part of the pattern, so
 * that its length is all that counts: there is no way back, and so no name that takes for ever.
 */
export function globMatcher(pattern: string): (name: string) => boolean {
  const [prefix = '', ...rest] = partsOf(pattern);
  if (rest.length === 0) return (name) => name === pattern;
  const suffix = rest.at(-1) ?? '';
  const parts = rest.filter((part) => part !== '').map(partOf);
  return (name) =>
    name.startsWith(prefix) && name.endsWith(suffix) && isMatchAfter(prefix.length, parts, name);
}

function isMatchAfter(prefixLength: number, parts: readonly Part[], name: string): boolean {
  let ends: Ends = new Uint8Array(name.length + 1);
  ends[prefixLength] = 1;
  for (const part of parts) ends = part(name, ends);
  return ends[name.length] === 1;
}

function partOf(part: string): Part {
  if (part === '?') return oneCharacter;
  if (part === '*') return withinSlashes;
  if (part === '**/') return leadingParts;
  if (part.startsWith('/**')) return allBelow;
  return part.startsWith('**') ? everything : literal(part);
}

const literal =
  (text: string): Part =>
  (name, before) =>
    fill(name, (ends) => {
      for (let end = before.indexOf(1); end !== -1; end = before.indexOf(1, end + 1))
        if (name.startsWith(text, end)) ends[end + text.length] = 1;
    });

const oneCharacter: Part = (name, before) =>
  fill(name, (ends) => {
    for (let end = 1; end <= name.length; end += 1)
      if (before[end - 1] === 1 && name[end - 1] !== '/') ends[end] = 1;
  });

const withinSlashes: Part = (name, before) =>
  fill(name, (ends) => {
    for (let end = 0; end <= name.length; end += 1)
      if (before[end] === 1 || (ends[end - 1] === 1 && name[end - 1] !== '/')) ends[end] = 1;
  });

const everything: Part = (name, before) =>
  fill(name, (ends) => {
    const first = before.indexOf(1);
    if (first !== -1) ends.fill(1, first);
  });

/** Any number of parts of a name, each with its slash. */
const leadingParts: Part = (name, before) =>
  fill(name, (ends) => {
    const first = before.indexOf(1);
    if (first === -1) return;
    ends.set(before);
    for (let end = name.indexOf('/', first); end !== -1; end = name.indexOf('/', end + 1)) ends[end + 1] = 1;
  });

/** What stands before the slash, and all below it. */
const allBelow: Part = (name, before) =>
  fill(name, (ends) => {
    const isBelow = (end: number): boolean => end === name.length || name[end] === '/';
    if (before.some((one, end) => one === 1 && isBelow(end))) ends[name.length] = 1;
  });

function fill(name: string, into: (ends: Ends) => void): Ends {
  const ends = new Uint8Array(name.length + 1);
  into(ends);
  return ends;
}

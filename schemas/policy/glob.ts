import { z } from 'zod';
import type { Steps } from './steps.ts';

/**
 * A name of an image has at most 255 characters of repository, and 128 of tag or a digest.
 * @limit Characters of one pattern. A longer one fails validation.
 */
export const MAX_GLOB_LENGTH = 512;
/** @limit Wildcards in one pattern. */
export const MAX_GLOB_WILDCARDS = 16;
/** @limit Patterns in one list. More fail validation. */
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
    .refine(
      (written) => written.length > MAX_GLOB_LENGTH || partsOf(written).length <= 2 * MAX_GLOB_WILDCARDS + 1,
      {
        error: `must have at most ${MAX_GLOB_WILDCARDS} wildcards`,
      },
    );

/**
 * Of all patterns of a list: how many places in them a name can be at, at once (`weightOfGlob`). A list over images is read once for
 * all names of a decision, one over nodes, clusters or namespaces for each name anew.
 * @limit States of the automaton of a list of image patterns.
 */
export const MAX_WEIGHT_OF_IMAGE_GLOBS = 16_384;
/** @limit The same for node patterns. Times 253 characters it must stay within `MAX_SELECTION_STEPS`. */
export const MAX_WEIGHT_OF_NODE_GLOBS = 4_096;
/** @limit Characters of all patterns of a policy. The largest policy must fit the topic (`ONE_POLICY`). */
export const MAX_GLOB_CHARACTERS = 131_072;

export const weightOfGlobs = (patterns: readonly string[]): number =>
  patterns.reduce((sum, pattern) => sum + weightOfGlob(pattern), 0);

export const charactersOf = (patterns: readonly string[]): number =>
  patterns.reduce((sum, { length }) => sum + length, 0);

const tooHeavy = (most: number): string =>
  `cost too much: at most ${most} characters and wildcards may follow the first wildcards of the patterns; write the beginnings of names, or fewer patterns`;

/** What a list of well-formed patterns costs beyond what one may; `null` where it does not. */
export function globsProblem(patterns: readonly string[], mostWeight: number): string | null {
  if (patterns.length > MAX_GLOBS || patterns.some(({ length }) => length > MAX_GLOB_LENGTH)) return null;
  if (charactersOf(patterns) > MAX_GLOB_CHARACTERS)
    return `must have at most ${MAX_GLOB_CHARACTERS} characters together`;
  return weightOfGlobs(patterns) > mostWeight ? tooHeavy(mostWeight) : null;
}

const globs = (mostWeight: number) =>
  z
    .array(globWritten('must be a pattern'), { error: 'must be a list of patterns' })
    .max(MAX_GLOBS, { error: TOO_MANY_GLOBS })
    .superRefine((patterns, context) => {
      const problem = globsProblem(patterns, mostWeight);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem, input: patterns });
    });

/** Patterns over names of images. */
export const ImageGlobs = globs(MAX_WEIGHT_OF_IMAGE_GLOBS);
/** Patterns over names of nodes or clusters. */
export const NodeGlobs = globs(MAX_WEIGHT_OF_NODE_GLOBS);

/** What a position of a pattern waits for. Positions of one pattern are consecutive. */
const CHARACTER = 0;
/** `?` */
const ONE = 1;
/** `*` */
const WITHIN = 2;
/** `**` */
const EVERYTHING = 3;
/** Before any number of parts of a name, each with its slash; the next position is within them. */
const PARTS = 4;
const WITHIN_PARTS = 5;
/** The name may end here, or go on with a slash. */
const BELOW = 6;
/** Behind that slash. */
const FAR_BELOW = 7;
const END = 8;

/** Any character that no pattern names. */
const OTHER = 0;
const SLASH = 1;
const SLASH_CODE = 0x2f;
const ASCII = 128;

/** The largest number that fits into 32 bits. */
const LAST_MARK = 0xffff_ffff;

/** To visit a position takes as long as so many comparisons of characters. */
const STEPS_OF_POSITION = 2;
/** To find out that a set of positions was met before takes longer. */
const STEPS_OF_NEW_POSITION = 4;

/**
 * How many positions of a pattern a name can be at, at once: what the pattern costs at each character of the name. A pattern without
 * a wildcard is looked up as a whole.
 */
export function weightOfGlob(pattern: string): number {
  const [prefix = '', ...rest] = partsOf(pattern);
  return rest.length === 0
    ? 1
    : 1 + pattern.length - prefix.length + rest.filter((part) => part === '**/').length;
}

/**
 * A list of patterns, compiled to one automaton that reads a name once for all of them. `*` and `?` stop at a slash, `**` does not;
 * `a/**` is `a` too. A name takes as many steps as it has characters, times the weight of the patterns at most: there is no way back,
 * and so no name that takes for ever.
 */
export class GlobList {
  readonly patterns: readonly string[];
  /** Of patterns without a wildcard, their place in the list. */
  readonly #whole = new Map<string, number>();
  readonly #waits: number[] = [];
  /** Of a position that waits for a character, its class. */
  readonly #classes: number[] = [];
  /** Place in the list of the pattern of a position. */
  readonly #owners: number[] = [];
  readonly #classOfAscii = new Uint16Array(ASCII);
  readonly #classOfOthers = new Map<number, number>();
  #classCount = 2;
  /** Marks the positions of the set that is being made, so that each is in it once. */
  readonly #marks: Uint32Array;
  #mark = 0;
  readonly start: readonly number[];

  private constructor(patterns: readonly string[]) {
    this.patterns = patterns;
    this.#classOfAscii[SLASH_CODE] = SLASH;
    const starts: number[] = [];
    const compiled = new Set<string>();
    for (const [place, pattern] of patterns.entries()) {
      if (compiled.has(pattern)) continue;
      compiled.add(pattern);
      const parts = partsOf(pattern).filter((part) => part !== '');
      if (partsOf(pattern).length === 1) this.#whole.set(pattern, place);
      else {
        starts.push(this.#waits.length);
        this.#compile(parts, place);
      }
    }
    this.#marks = new Uint32Array(this.#waits.length);
    const start: number[] = [];
    this.#newMark();
    for (const position of starts) this.#add(position, start);
    this.start = start;
  }

  static readonly #compiled = new WeakMap<readonly string[], GlobList>();

  /** Compiled once for each list, as it lies in a policy. */
  static of(patterns: readonly string[]): GlobList {
    const before = GlobList.#compiled.get(patterns);
    if (before !== undefined) return before;
    const list = new GlobList(patterns);
    GlobList.#compiled.set(patterns, list);
    return list;
  }

  get classCount(): number {
    return this.#classCount;
  }

  /** Place of the pattern without a wildcard that the name equals. */
  wholeAt(name: string): number | undefined {
    return this.#whole.get(name);
  }

  /** Whether any pattern matches one name. Many names are held against a list by `GlobMatching`. */
  matches(name: string, steps: Steps): boolean {
    steps.take(1 + name.length);
    if (this.#whole.has(name)) return true;
    let positions = this.start;
    for (let at = 0; at < name.length && positions.length > 0; at += 1) {
      const next = this.next(positions, this.classAt(name, at));
      steps.take(STEPS_OF_POSITION * (positions.length + next.length));
      positions = next;
    }
    return positions.some((position) => this.ownerAtEnd(position) !== null);
  }

  classAt(name: string, at: number): number {
    const code = name.charCodeAt(at);
    return (code < ASCII ? this.#classOfAscii[code] : this.#classOfOthers.get(code)) ?? OTHER;
  }

  /** Place of the pattern that matches a name that ends at this position; `null` where it does not. */
  ownerAtEnd(position: number): number | null {
    return (this.#waits[position] ?? CHARACTER) >= BELOW ? (this.#owners[position] ?? null) : null;
  }

  /** The positions behind a character of this class. */
  next(positions: readonly number[], characterClass: number): number[] {
    const into: number[] = [];
    this.#newMark();
    for (const position of positions) {
      switch (this.#waits[position]) {
        case CHARACTER:
          if (this.#classes[position] === characterClass) this.#add(position + 1, into);
          break;
        case ONE:
          if (characterClass !== SLASH) this.#add(position + 1, into);
          break;
        case WITHIN:
          if (characterClass !== SLASH) this.#add(position, into);
          break;
        case WITHIN_PARTS:
          this.#add(position, into);
          if (characterClass === SLASH) this.#add(position + 1, into);
          break;
        case BELOW:
          if (characterClass === SLASH) this.#add(position + 1, into);
          break;
        case EVERYTHING:
        case FAR_BELOW:
          this.#add(position, into);
          break;
      }
    }
    return into;
  }

  #newMark(): void {
    if (this.#mark === LAST_MARK) {
      this.#marks.fill(0);
      this.#mark = 0;
    }
    this.#mark += 1;
  }

  /** With those that it takes no character to come to. */
  #add(first: number, into: number[]): void {
    let position = first;
    while (this.#marks[position] !== this.#mark) {
      this.#marks[position] = this.#mark;
      into.push(position);
      const waits = this.#waits[position];
      if (waits === PARTS) {
        this.#add(position + 1, into);
        position += 2;
      } else if (waits === WITHIN || waits === EVERYTHING) position += 1;
      else return;
    }
  }

  #compile(parts: readonly string[], place: number): void {
    for (const part of parts) {
      if (part === '?') this.#put(ONE, place);
      else if (part === '*') this.#put(WITHIN, place);
      else if (part === '**/') {
        this.#put(PARTS, place);
        this.#put(WITHIN_PARTS, place);
      } else if (part.startsWith('/**')) {
        this.#put(BELOW, place);
        this.#put(FAR_BELOW, place);
        return;
      } else if (part.startsWith('**')) this.#put(EVERYTHING, place);
      else
        for (let at = 0; at < part.length; at += 1)
          this.#put(CHARACTER, place, this.#newClass(part.charCodeAt(at)));
    }
    this.#put(END, place);
  }

  #put(waits: number, place: number, characterClass = OTHER): void {
    this.#waits.push(waits);
    this.#classes.push(characterClass);
    this.#owners.push(place);
  }

  #newClass(code: number): number {
    const before = code < ASCII ? this.#classOfAscii[code] : this.#classOfOthers.get(code);
    if (before !== undefined && before !== OTHER) return before;
    const characterClass = this.#classCount;
    this.#classCount += 1;
    if (code < ASCII) this.#classOfAscii[code] = characterClass;
    else this.#classOfOthers.set(code, characterClass);
    return characterClass;
  }
}

/** A set of positions that names led to, and where each class of characters leads from there. */
interface Known {
  readonly positions: readonly number[];
  readonly next: (Known | undefined)[];
  /** Places of the patterns that match a name that ends here, in ascending order. */
  readonly ends: readonly number[];
}

/**
 * The names of one decision against one list: each name is read once, and what was found out about a beginning serves all names that
 * begin so. It begins with nothing each time, since the steps of a decision may not depend on the one before.
 */
export class GlobMatching {
  readonly #list: GlobList;
  readonly #steps: Steps;
  readonly #known = new Map<number, Known[]>();
  readonly #start: Known;
  readonly #found = new Map<string, readonly number[]>();

  constructor(list: GlobList, steps: Steps) {
    this.#list = list;
    this.#steps = steps;
    this.#start = this.#knownOf([...list.start]);
  }

  /** Place in the list of the first pattern that matches; `undefined` where none does. */
  first(name: string): number | undefined {
    const whole = this.#list.wholeAt(name);
    const [first] = this.#ends(name);
    return whole === undefined || (first !== undefined && first < whole) ? first : whole;
  }

  /** Places in the list of all that match. */
  all(name: string): readonly number[] {
    const whole = this.#list.wholeAt(name);
    return whole === undefined ? this.#ends(name) : [...this.#ends(name), whole];
  }

  #ends(name: string): readonly number[] {
    const before = this.#found.get(name);
    if (before !== undefined) return before;
    const found = this.#read(name);
    this.#found.set(name, found);
    return found;
  }

  #read(name: string): readonly number[] {
    let known = this.#start;
    let at = 0;
    for (; at < name.length && known.positions.length > 0; at += 1) {
      const characterClass = this.#list.classAt(name, at);
      known = known.next[characterClass] ?? this.#goOn(known, characterClass);
    }
    this.#steps.take(1 + at);
    return known.ends;
  }

  #goOn(from: Known, characterClass: number): Known {
    const positions = this.#list.next(from.positions, characterClass);
    this.#steps.take(STEPS_OF_NEW_POSITION * (from.positions.length + positions.length));
    const known = this.#knownOf(positions);
    from.next[characterClass] = known;
    return known;
  }

  #knownOf(unsorted: number[]): Known {
    const positions = unsorted.sort((a, b) => a - b);
    let hash = 0;
    for (const position of positions) hash = (hash * 31 + position) | 0;
    const alike = this.#known.get(hash);
    const before = alike?.find((known) => isSame(known.positions, positions));
    if (before !== undefined) return before;
    this.#steps.take(this.#list.classCount);
    const ends = positions.flatMap((position) => this.#list.ownerAtEnd(position) ?? []);
    const known: Known = { positions, next: [], ends: [...new Set(ends)].sort((a, b) => a - b) };
    if (alike === undefined) this.#known.set(hash, [known]);
    else alike.push(known);
    return known;
  }
}

const isSame = (some: readonly number[], others: readonly number[]): boolean =>
  some.length === others.length && some.every((position, at) => position === others[at]);

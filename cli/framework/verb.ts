import type { Logger } from 'pino';
import { z } from 'zod';
import type { LogDestination } from '../../packages/process/logger.ts';
import {
  describeOptions,
  type OptionInfo,
  type OptionsSchema,
} from '../../packages/process/options/options.ts';
import {
  configError,
  type OptionSources,
  parseOptions,
} from '../../packages/process/options/read-options.ts';
import { SHUTDOWN_LIMIT_MS } from '../../packages/process/run.ts';
import { printableLine } from '../../packages/text/printable.ts';
import { loggingOptions } from '../options/common-options.ts';
import type { WrittenRecords } from './written-records.ts';

/** What a verb gets from the process it runs in. */
export interface VerbContext {
  /** Aborts when the process was told to stop. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Writes one line of the result to stdout. Everything else goes to the logger. */
  readonly print: (line: string) => void;
  /** For results of any size: resolves once the reader of stdout has room for more. The text ends its lines itself. */
  readonly write: (text: string) => Promise<void>;
  /** Width of the terminal that stdout is; `null` when it is none. */
  readonly terminalColumns: number | null;
  /** How far long work is; shown to people alone. */
  readonly progress: Progress;
  /** What it has written to the event log so far. */
  readonly written: WrittenRecords;
  /** What the process was given beside its arguments. Options are read from it already. */
  readonly environment: OptionSources['environment'];
  /** Loads the code of every verb, for what tells of all of them. */
  readonly allVerbs: LoadVerbs;
}

export type LoadVerbs = () => Promise<readonly Verb[]>;

const LoggingOptions = z.object(loggingOptions);
type LoggingOptions = z.infer<typeof LoggingOptions>;

/** A verb whose options were read and found good. */
export interface PreparedVerb {
  readonly logging: LoggingOptions;
  run(context: VerbContext): Promise<void>;
}

/** What the list of verbs says about one of them. The rest is in the file of its family, and loaded when it is needed. */
export interface ListedVerb extends VerbTitle {
  readonly load: LoadVerb;
}

/** Verbs that help shows together. */
export interface VerbGroup {
  readonly heading: string;
  readonly verbs: readonly ListedVerb[];
}

interface VerbTitle {
  /** Words separated by spaces, e.g. `policy apply`. */
  readonly name: string;
  /** One line for the list of verbs. */
  readonly summary: string;
  /**
   * `service`: runs until it is told to stop and logs JSON lines unless stderr is a terminal.
   * `task`: does one thing, and writes its messages as plain sentences.
   */
  readonly kind: 'service' | 'task';
  /** The switch that makes a service of a task. */
  readonly serviceSwitch?: string;
}

/** Imports the file of the verb's family. */
type LoadVerb = () => Promise<VerbBody>;

export const service = <const Name extends string>(name: Name, summary: string, load: LoadVerb) =>
  ({ name, summary, kind: 'service', load }) as const;
export const task = <const Name extends string>(name: Name, summary: string, load: LoadVerb) =>
  ({ name, summary, kind: 'task', load }) as const;

export const loadVerb = async ({ load, ...listed }: ListedVerb): Promise<Verb> => ({
  ...listed,
  ...(await load()),
});

/** One `fleetgc <verb>`, for the command line to explain and run. */
export interface Verb extends VerbTitle, VerbBody {}

/** What the file of its family holds of a verb. */
interface VerbBody extends VerbTexts {
  readonly options: readonly OptionInfo[];
  /** How long an orderly stop may take. */
  readonly shutdownLimitMs: number;
  /** Throws `CONFIG_INVALID` with every problem of every option, or `USAGE` for good ones that do not go together. */
  prepare(sources: OptionSources): PreparedVerb;
}

export interface VerbTexts {
  /** What help says beyond the summary and the options, a paragraph each. */
  readonly help?: readonly string[];
  /** Commands to type, the simplest first. */
  readonly examples: readonly [string, ...string[]];
}

interface VerbDefinition<S extends OptionsSchema> extends VerbTexts {
  readonly options: S;
  /** When not given: 25 s. */
  readonly shutdownLimitMs?: number;
  /** Throws `USAGE` for options of the command line that do not go together; what stands elsewhere may be for other verbs. */
  readonly checkFlags?: (options: z.infer<S>, flags: OptionSources['flags']) => void;
  readonly run: (options: z.infer<S>, context: VerbContext) => Promise<void>;
}

export function defineVerb<S extends OptionsSchema>(definition: VerbDefinition<S>): VerbBody {
  const { options, run, checkFlags, shutdownLimitMs = SHUTDOWN_LIMIT_MS, ...texts } = definition;
  const described = [...describeOptions(options), ...describeOptions(LoggingOptions)];
  const keys = new Set(described.map(({ key }) => key));
  return {
    ...texts,
    options: described,
    shutdownLimitMs,
    prepare: (sources) => {
      const all = { ...sources, otherKeys: new Set([...(sources.otherKeys ?? []), ...keys]) };
      const own = parseOptions(options, all);
      const logging = parseOptions(LoggingOptions, all);
      if (own.ok && logging.ok) {
        checkFlags?.(own.value, sources.flags);
        const { output }: { readonly output?: unknown } = own.value;
        return {
          logging: logging.value,
          run: (context) =>
            run(own.value, isForPeople(output) ? context : { ...context, progress: NO_PROGRESS }),
        };
      }
      throw configError([...(own.ok ? [] : own.problems), ...(logging.ok ? [] : logging.problems)]);
    },
  };
}

/** What a verb reports while it works, and nothing else: where progress is shown, and how often, is decided here alone. */
export interface Progress {
  /** Milliseconds since the verb began, by a clock that does not jump. */
  readonly elapsedMs: () => number;
  /** Shows how far the work is, if a line is due. The line is made only then. */
  readonly report: (line: () => string) => void;
}

/** Formats that people read. What asks for another one is a program, which gets no progress. */
const FORMATS_FOR_PEOPLE: readonly unknown[] = [undefined, 'table', 'wide', 'text', 'markdown'];
const isForPeople = (format: unknown): boolean => FORMATS_FOR_PEOPLE.includes(format);

/** On a terminal, where each line takes the place of the one before. */
const TERMINAL_EVERY_MS = 200;
/** In a file or a pipe, where each line remains. */
const LINE_EVERY_MS = 5_000;
const CLEAR_LINE = '\r\u001b[2K';

/** What a line of progress ends in, so that it can be told from what is worth reading later. */
export const ONGOING = ' …';

export const NO_PROGRESS: Progress = { elapsedMs: () => 0, report: () => undefined };

/**
 * Progress on stderr: on a terminal at once, in one line that the next message clears; elsewhere as lines, the first one
 * after five seconds.
 */
export class ProgressLine implements Progress {
  readonly #stderr: LogDestination;
  readonly #now: () => number;
  readonly #startedMs: number;
  #dueMs: number;
  #isShown = false;

  constructor(stderr: LogDestination, now: () => number) {
    this.#stderr = stderr;
    this.#now = now;
    this.#startedMs = now();
    this.#dueMs = this.#startedMs + (stderr.isTerminal ? 0 : LINE_EVERY_MS);
  }

  readonly elapsedMs = (): number => this.#now() - this.#startedMs;

  readonly report = (line: () => string): void => {
    const nowMs = this.#now();
    if (nowMs < this.#dueMs) return;
    const { isTerminal } = this.#stderr;
    this.#dueMs = nowMs + (isTerminal ? TERMINAL_EVERY_MS : LINE_EVERY_MS);
    const text = printableLine(`${line()}${ONGOING}`);
    this.#stderr.write(isTerminal ? `${CLEAR_LINE}${text}` : `${text}\n`);
    this.#isShown = isTerminal;
  };

  /** Takes the line off the terminal, before anything else is written there and at the end. */
  readonly clear = (): void => {
    if (!this.#isShown) return;
    this.#isShown = false;
    this.#stderr.write(CLEAR_LINE);
  };
}

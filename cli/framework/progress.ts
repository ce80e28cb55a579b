import type { LogDestination } from '../../packages/process/logger.ts';
import { printableLine } from '../../packages/text/printable.ts';

/** What a verb reports while it works, and nothing else: where progress is shown, and how often, is decided here alone. */
export interface Progress {
  /** Milliseconds since the verb began, by a clock that does not jump. */
  readonly elapsedMs: () => number;
  /** Shows how far the work is, if a line is due. The line is made only then. */
  readonly report: (line: () => string) => void;
}

/** Formats that people read. What asks for another one is a program, which gets no progress. */
const FORMATS_FOR_PEOPLE: readonly unknown[] = [undefined, 'table', 'wide', 'text', 'markdown'];
export const isForPeople = (format: unknown): boolean => FORMATS_FOR_PEOPLE.includes(format);

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

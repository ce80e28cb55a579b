import { ERROR_CODES, type ErrorCode } from './error-codes.ts';
import { systemProblem } from './system-problem.ts';

/** The one error class. `message` is a sentence for the operator: what is wrong, and what to do about it. */
export class FleetGcError extends Error {
  override readonly name = 'FleetGcError';
  readonly code: ErrorCode;
  readonly #lines: readonly string[];

  constructor(
    code: ErrorCode,
    message: string | readonly string[],
    options: { readonly cause?: unknown } = {},
  ) {
    const lines = typeof message === 'string' ? [message] : message;
    super(lines.join('\n'), options);
    this.code = code;
    this.#lines = lines;
  }

  /** Of the message: a line feed within one is not ours, and begins no line where people read it. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  get retry(): boolean {
    return ERROR_CODES[this.code].retry;
  }

  get exitCode(): number {
    return ERROR_CODES[this.code].exitCode;
  }
}

/**
 * Gives any thrown value a code. What the system answered about a file is `FILE_UNUSABLE`; what was not foreseen is `INTERNAL` and keeps
 * its cause.
 */
export function toFleetGcError(error: unknown): FleetGcError {
  if (error instanceof FleetGcError) return error;
  const path = pathIn(error);
  const problem = path === null ? null : systemProblem(error);
  if (problem !== null)
    return new FleetGcError('FILE_UNUSABLE', `Cannot use ${path}: ${problem}`, { cause: error });
  const message = error instanceof Error ? error.message : String(error);
  return new FleetGcError('INTERNAL', message, { cause: error });
}

/** The file that an error of the system is about. */
const pathIn = (error: unknown): string | null =>
  error instanceof Error && 'syscall' in error && 'path' in error && typeof error.path === 'string'
    ? error.path
    : null;

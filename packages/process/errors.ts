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

/**
 * Every foreseen failure, with what follows from it. `retry`: trying the same again later may succeed.
 * `exitCode`: what the process ends with when the failure reaches the top.
 */
const ERROR_CODES = {
  USAGE: { retry: false, exitCode: 2 },
  CONFIG_INVALID: { retry: false, exitCode: 2 },
  /** The verb does not work on this operating system. */
  PLATFORM_UNSUPPORTED: { retry: false, exitCode: 2 },
  POLICY_INVALID: { retry: false, exitCode: 2 },
  AMBIGUOUS: { retry: false, exitCode: 2 },
  NOT_FOUND: { retry: false, exitCode: 1 },
  NOT_PLANNED: { retry: false, exitCode: 1 },
  /** What was looked at is not what is there now. */
  HOLD_GREW: { retry: false, exitCode: 1 },
  REDRIVE_REFUSED: { retry: false, exitCode: 1 },
  EVENT_REJECTED: { retry: false, exitCode: 1 },
  LOG_UNREACHABLE: { retry: true, exitCode: 1 },
  LOG_UNAUTHORIZED: { retry: false, exitCode: 1 },
  LOG_BUSY: { retry: true, exitCode: 1 },
  LOG_FULL: { retry: true, exitCode: 1 },
  LOG_CORRUPT: { retry: false, exitCode: 1 },
  LOG_RECORD_TOO_LARGE: { retry: false, exitCode: 1 },
  TOPICS_MISSING: { retry: true, exitCode: 1 },
  TOPICS_RECREATED: { retry: true, exitCode: 1 },
  TOPICS_DIFFER: { retry: false, exitCode: 1 },
  GROUP_LOST: { retry: true, exitCode: 1 },
  FLOODED: { retry: true, exitCode: 1 },
  POLICIES_UNREADABLE: { retry: true, exitCode: 1 },
  KEYS_UNREADABLE: { retry: true, exitCode: 1 },
  KEY_UNUSABLE: { retry: false, exitCode: 2 },
  /** What was to be looked at has something wrong. */
  PROBLEM_FOUND: { retry: false, exitCode: 1 },
  KEY_PROBLEM: { retry: false, exitCode: 1 },
  FLEET_HARMED: { retry: false, exitCode: 1 },
  AUDIT_DEVIATION: { retry: false, exitCode: 1 },
  AUDIT_INCOMPLETE: { retry: false, exitCode: 3 },
  ARCHIVE_CHANGED: { retry: false, exitCode: 1 },
  ARCHIVE_OF_ANOTHER_RELEASE: { retry: false, exitCode: 1 },
  ARCHIVE_GAP: { retry: false, exitCode: 1 },
  DECIDER_CHANGED: { retry: false, exitCode: 1 },
  RUNTIME_MISSING: { retry: true, exitCode: 1 },
  RUNTIME_REFUSED: { retry: true, exitCode: 1 },
  RUNTIME_TIMEOUT: { retry: true, exitCode: 1 },
  RUNTIME_UNSUPPORTED: { retry: false, exitCode: 1 },
  RUNTIME_NOT_FOUND: { retry: false, exitCode: 1 },
  RUNTIME_IMAGE_IN_USE: { retry: true, exitCode: 1 },
  RUNTIME_ANSWER_TOO_LARGE: { retry: true, exitCode: 1 },
  RUNTIME_FAILED: { retry: true, exitCode: 1 },
  API_UNREACHABLE: { retry: true, exitCode: 1 },
  API_ANSWER_TOO_LARGE: { retry: true, exitCode: 1 },
  API_ANSWER_UNREADABLE: { retry: true, exitCode: 1 },
  API_REFUSED: { retry: true, exitCode: 1 },
  API_NO_CREDENTIALS: { retry: true, exitCode: 1 },
  API_REPLACED: { retry: true, exitCode: 1 },
  LEASE_LOST: { retry: true, exitCode: 1 },
  PODS_UNREADABLE: { retry: true, exitCode: 1 },
  STATE_UNREADABLE: { retry: false, exitCode: 1 },
  STATE_IN_USE: { retry: true, exitCode: 1 },
  STATE_UNWRITABLE: { retry: true, exitCode: 1 },
  /** The system does not let this user use a file, or has no room for it. */
  FILE_UNUSABLE: { retry: true, exitCode: 1 },
  /** What lies there is nothing that FleetGC would have put there. */
  FILE_REFUSED: { retry: false, exitCode: 1 },
  /** Told to stop before it was done; the exit code is that of the signal. */
  INTERRUPTED: { retry: true, exitCode: 130 },
  TIMEOUT: { retry: true, exitCode: 1 },
  INTERNAL: { retry: false, exitCode: 1 },
} as const satisfies Record<string, { retry: boolean; exitCode: number }>;

export type ErrorCode = keyof typeof ERROR_CODES;

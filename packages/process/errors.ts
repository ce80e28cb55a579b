/**
 * Every foreseen failure, with what follows from it. `retry`: trying the same again later may succeed.
 * `exitCode`: what the process ends with when the failure reaches the top.
 */
const CODES = {
  USAGE: { retry: false, exitCode: 2 },
  CONFIG_INVALID: { retry: false, exitCode: 2 },
  POLICY_INVALID: { retry: false, exitCode: 2 },
  AMBIGUOUS: { retry: false, exitCode: 2 },
  NOT_FOUND: { retry: false, exitCode: 1 },
  NOT_PLANNED: { retry: false, exitCode: 1 },
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
  FLEET_HARMED: { retry: false, exitCode: 1 },
  AUDIT_DEVIATION: { retry: false, exitCode: 1 },
  AUDIT_INCOMPLETE: { retry: false, exitCode: 3 },
  ARCHIVE_CHANGED: { retry: false, exitCode: 1 },
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
  PODS_UNREADABLE: { retry: true, exitCode: 1 },
  STATE_UNREADABLE: { retry: false, exitCode: 1 },
  STATE_IN_USE: { retry: true, exitCode: 1 },
  STATE_UNWRITABLE: { retry: true, exitCode: 1 },
  /** Told to stop before it was done; the exit code is that of the signal. */
  INTERRUPTED: { retry: true, exitCode: 130 },
  TIMEOUT: { retry: true, exitCode: 1 },
  INTERNAL: { retry: false, exitCode: 1 },
} as const satisfies Record<string, { retry: boolean; exitCode: number }>;

export type ErrorCode = keyof typeof CODES;

/** The one error class. `message` is a sentence for the operator: what is wrong, and what to do about it. */
export class FleetGcError extends Error {
  override readonly name = 'FleetGcError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }

  get retry(): boolean {
    return CODES[this.code].retry;
  }

  get exitCode(): number {
    return CODES[this.code].exitCode;
  }
}

/** Gives any thrown value a code; what nobody foresaw is `INTERNAL` and keeps its cause. */
export function toFleetGcError(error: unknown): FleetGcError {
  if (error instanceof FleetGcError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new FleetGcError('INTERNAL', message, { cause: error });
}

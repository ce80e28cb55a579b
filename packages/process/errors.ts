import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

/** The one error class. `message` is a sentence for the operator: what is wrong, and what to do about it. */
export class FleetGcError extends Error {
  override readonly name = 'FleetGcError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }

  get retry(): boolean {
    return ERROR_CODES[this.code].retry;
  }

  get exitCode(): number {
    return ERROR_CODES[this.code].exitCode;
  }
}

/** Gives any thrown value a code; what nobody foresaw is `INTERNAL` and keeps its cause. */
export function toFleetGcError(error: unknown): FleetGcError {
  if (error instanceof FleetGcError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new FleetGcError('INTERNAL', message, { cause: error });
}

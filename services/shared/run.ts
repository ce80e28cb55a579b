import type { Logger } from 'pino';
import { FleetGcError, toFleetGcError } from './errors.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM';

/** What `runProcess` needs of the process; tests inject their own. */
export interface ProcessControl {
  /** Calls the listener at every stop signal until the returned function is called. */
  onStopSignal(listener: (signal: StopSignal) => void): () => void;
  /** Calls the listener for what was thrown outside of every `await`. */
  onUncaught(listener: (error: unknown) => void): () => void;
  /** Ends the process at once. */
  exit(code: number): void;
  /** Calls the listener once after `delayMs` until the returned function is called. */
  after(delayMs: number, listener: () => void): () => void;
}

/** How long an orderly stop may take on a machine at work, unless a service has a reason for more; Kubernetes waits for 30 s. */
export const SHUTDOWN_LIMIT_MS = 25_000;

export interface RunSettings {
  readonly logger: Logger;
  readonly control: ProcessControl;
  readonly shutdownLimitMs: number;
}

const EXIT_BY_SIGNAL: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

/**
 * Runs `body` until it returns or fails. The first stop signal aborts its signal; a second one, or `shutdownLimitMs`
 * without an end, ends the process at once. Returns the exit code: 0 for an orderly stop, else that of the error.
 */
export async function runProcess(
  body: (signal: AbortSignal) => Promise<void>,
  { logger, control, shutdownLimitMs }: RunSettings,
): Promise<number> {
  const stop = new AbortController();
  using cleanup = new DisposableStack();
  const forget = (undo: () => void): void => cleanup.defer(undo);
  const fail = (error: unknown): void => control.exit(reportFailure(logger, error));
  const onStopSignal = (name: StopSignal): void => {
    if (stop.signal.aborted) {
      control.exit(EXIT_BY_SIGNAL[name]);
      return;
    }
    logger.info({ signal: name }, 'stopping');
    forget(control.after(shutdownLimitMs, () => fail(stopTookTooLong(shutdownLimitMs))));
    stop.abort();
  };
  forget(control.onStopSignal(onStopSignal));
  forget(control.onUncaught(fail));
  return await outcomeOf(body, stop.signal, logger);
}

async function outcomeOf(
  body: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
  logger: Logger,
): Promise<number> {
  try {
    await body(signal);
    return 0;
  } catch (error) {
    return signal.aborted && isAbort(error) ? 0 : reportFailure(logger, error);
  }
}

/** One line that says what is wrong; the stack only of what nobody foresaw. Returns the exit code. */
export function reportFailure(logger: Logger, thrown: unknown): number {
  const error = toFleetGcError(thrown);
  const unforeseen = error.code === 'INTERNAL' ? { err: error.cause ?? error } : {};
  logger.fatal({ code: error.code, ...unforeseen }, error.message);
  return error.exitCode;
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

const stopTookTooLong = (limitMs: number): FleetGcError =>
  new FleetGcError('TIMEOUT', `did not stop within ${limitMs / 1000} s; ended without waiting any longer`);

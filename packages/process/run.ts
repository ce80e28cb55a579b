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

/**
 * How long an orderly stop may take on a machine at work, unless a service has a reason for more; Kubernetes waits for 30 s.
 * @limit Time to stop a process. Keep it below the 30 s of `deploy/`.
 */
export const SHUTDOWN_LIMIT_MS = 25_000;

interface RunSettings {
  readonly logger: Logger;
  readonly control: ProcessControl;
  readonly shutdownLimitMs: number;
  /** Whether it runs until it is told to stop, so that a stop is no failure: else what was asked for was not done. */
  readonly endless: boolean;
}

const EXIT_BY_SIGNAL: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

/**
 * Runs `body` until it returns or fails. The first stop signal aborts its signal; a second one, or `shutdownLimitMs`
 * without an end, ends the process at once. Returns the exit code: 0 for an orderly stop, that of the signal for work that
 * was interrupted, else that of the error.
 */
export async function runProcess(
  body: (signal: AbortSignal) => Promise<void>,
  { logger, control, shutdownLimitMs, endless }: RunSettings,
): Promise<number> {
  const stop = new AbortController();
  const stopped: { by: StopSignal | null } = { by: null };
  using cleanup = new DisposableStack();
  const forget = (undo: () => void): void => cleanup.defer(undo);
  const fail = (error: unknown): void => control.exit(reportFailure(logger, error));
  const onStopSignal = (name: StopSignal): void => {
    if (stop.signal.aborted) {
      control.exit(EXIT_BY_SIGNAL[name]);
      return;
    }
    stopped.by = name;
    logger.info({ signal: name }, 'stopping');
    forget(control.after(shutdownLimitMs, () => fail(stopTookTooLong(shutdownLimitMs))));
    stop.abort();
  };
  forget(control.onStopSignal(onStopSignal));
  forget(control.onUncaught(fail));
  try {
    await body(stop.signal);
    return 0;
  } catch (error) {
    if (stopped.by === null || !isInterruption(error)) return reportFailure(logger, error);
    if (endless) return 0;
    reportFailure(logger, asInterruption(error));
    return EXIT_BY_SIGNAL[stopped.by];
  }
}

/** One line that says what is wrong; the stack only of what nobody foresaw. Returns the exit code. */
function reportFailure(logger: Logger, thrown: unknown): number {
  const error = toFleetGcError(thrown);
  const unforeseen = error.code === 'INTERNAL' ? { err: error.cause ?? error } : {};
  const lines = error.lines.length > 1 ? { lines: error.lines } : {};
  logger.fatal({ code: error.code, ...lines, ...unforeseen }, error.message);
  return error.exitCode;
}

const isInterruption = (error: unknown): boolean =>
  error instanceof FleetGcError
    ? error.code === 'INTERRUPTED'
    : error instanceof Error && error.name === 'AbortError';

const asInterruption = (error: unknown): FleetGcError =>
  error instanceof FleetGcError
    ? error
    : new FleetGcError('INTERRUPTED', 'stopped before it was done', { cause: error });

const stopTookTooLong = (limitMs: number): FleetGcError =>
  new FleetGcError('TIMEOUT', `did not stop within ${limitMs / 1000} s; ended without waiting any longer`);

/** The process that this code runs in. */
export const processControl: ProcessControl = {
  onStopSignal(listener) {
    process.on('SIGINT', listener);
    process.on('SIGTERM', listener);
    return () => {
      process.off('SIGINT', listener);
      process.off('SIGTERM', listener);
    };
  },
  onUncaught(listener) {
    process.on('uncaughtException', listener);
    process.on('unhandledRejection', listener);
    return () => {
      process.off('uncaughtException', listener);
      process.off('unhandledRejection', listener);
    };
  },
  exit: (code) => process.exit(code),
  after(delayMs, listener) {
    const timer = setTimeout(listener, delayMs);
    return () => clearTimeout(timer);
  },
};

/**
 * Calls the listener at each SIGHUP until the returned function is called. In a terminal the signal says that the terminal is
 * gone, and ends the process, as ever.
 */
export function onHangup(listener: () => void): () => void {
  if (process.stdin.isTTY) return () => undefined;
  process.on('SIGHUP', listener);
  return () => {
    process.off('SIGHUP', listener);
  };
}

/** How long something left open may hold up the end of the process. */
const LINGER_MS = 2_000;
/** The same after a failure or a stop: then it is known what is left, a connection that nobody answers. */
const FAILED_LINGER_MS = 100;

/** Lets the process end by itself, so that stdout is written whole, but not wait for what somebody forgot to close. */
export function endProcess(exitCode: number): void {
  process.exitCode = exitCode;
  setTimeout(() => process.exit(exitCode), exitCode === 0 ? LINGER_MS : FAILED_LINGER_MS).unref();
}

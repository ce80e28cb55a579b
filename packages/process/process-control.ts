import type { ProcessControl } from './run.ts';

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

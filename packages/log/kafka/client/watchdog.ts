import { FleetGcError } from '../../../process/errors.ts';
import { interrupted } from '../../stopping.ts';

/** Looks after somebody who waits for brokers, though not for ever. */
export interface Watchdog extends Disposable {
  /** A broker answered, or nothing was asked of any meanwhile. */
  answered(): void;
  /**
   * Settles as `work` does. Rejects with what `silent` says when nothing was heard for too long, and with `INTERRUPTED` when
   * `signal` aborts; then `work` is left to end by itself.
   */
  waitFor<T>(work: Promise<T>, signal: AbortSignal): Promise<T>;
}

/** `limitMs`: how long brokers may be silent; `null`: for ever. */
export function watchAnswers(limitMs: number | null, silent: () => FleetGcError): Watchdog {
  let giveUp = (_error: FleetGcError): void => undefined;
  const timer = limitMs === null ? null : setTimeout(() => giveUp(silent()), limitMs);
  return {
    answered: () => void timer?.refresh(),
    waitFor: async (work, signal) => {
      const { promise: ended, reject } = Promise.withResolvers<never>();
      const onAbort = (): void => reject(interrupted());
      giveUp = reject;
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
      try {
        return await Promise.race([work, ended]);
      } finally {
        giveUp = () => undefined;
        signal.removeEventListener('abort', onAbort);
      }
    },
    [Symbol.dispose]: () => {
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** @limit Silence after which a Kafka connection is replaced. */
export const SILENCE_MS = 120_000;

/** Of somebody who reads as long as brokers answer. */
export interface SilenceWatch {
  /** Something was heard. */
  readonly alive: () => void;
  /** Resolves after a stop; rejects with `GROUP_LOST` when nothing was heard for `SILENCE_MS`. */
  readonly settled: Promise<void>;
}

export function untilSilent(reader: string, stopping: AbortSignal): SilenceWatch {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const silence = setTimeout(
    () => reject(new FleetGcError('GROUP_LOST', `The reader of ${reader} fell silent; it starts anew.`)),
    SILENCE_MS,
  );
  stopping.addEventListener('abort', () => resolve(), { once: true });
  if (stopping.aborted) resolve();
  return {
    alive: () => void silence.refresh(),
    settled: promise.finally(() => clearTimeout(silence)),
  };
}

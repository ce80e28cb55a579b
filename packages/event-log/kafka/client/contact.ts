import type { FleetGcError } from '../../../process/errors.ts';
import { interrupted } from '../../stopping.ts';

/** Of somebody who waits for brokers, though not for ever. */
export interface Contact extends Disposable {
  /** A broker answered, or nothing was asked of any meanwhile. */
  heard(): void;
  /**
   * Settles as `work` does. Rejects with what `silent` says when nothing was heard for too long, and with `INTERRUPTED` when
   * `signal` aborts; then `work` is left to end by itself.
   */
  waitFor<T>(work: Promise<T>, signal: AbortSignal): Promise<T>;
}

/** `limitMs`: how long brokers may be silent; `null`: for ever. */
export function watchContact(limitMs: number | null, silent: () => FleetGcError): Contact {
  let giveUp = (_error: FleetGcError): void => undefined;
  const alarm = limitMs === null ? null : setTimeout(() => giveUp(silent()), limitMs);
  return {
    heard: () => void alarm?.refresh(),
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
      if (alarm !== null) clearTimeout(alarm);
    },
  };
}

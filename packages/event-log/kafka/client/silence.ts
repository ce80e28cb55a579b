import { FleetGcError } from '../../../process/errors.ts';

/** Connections over which nothing came for so long, not even "nothing new", are made anew. */
export const SILENCE_MS = 120_000;

/** Of somebody who reads as long as brokers answer. */
export interface Silence {
  /** Something was heard. */
  readonly alive: () => void;
  /** Resolves after a stop; rejects with `GROUP_LOST` when nothing was heard for `SILENCE_MS`. */
  readonly settled: Promise<void>;
}

export function untilSilent(reader: string, stopping: AbortSignal): Silence {
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

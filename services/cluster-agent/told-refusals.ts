import type { Logger } from 'pino';
import { type FleetGcError, toFleetGcError } from '../../packages/process/errors.ts';

const LASTING: readonly FleetGcError['code'][] = ['API_REFUSED', 'API_NO_CREDENTIALS'];

/** That an API server does not answer passes; that it does not know us lasts until somebody sees to it, and is told once as an error. */
export class ToldRefusals {
  readonly #logger: Pick<Logger, 'error' | 'warn'>;
  #isRefused = false;

  constructor(logger: Pick<Logger, 'error' | 'warn'>) {
    this.#logger = logger;
  }

  /** Throws what no retry mends. */
  failed(thrown: unknown, text: string): void {
    const error = toFleetGcError(thrown);
    if (!error.retry) throw error;
    const wasRefused = this.#isRefused;
    this.#isRefused = LASTING.includes(error.code);
    if (this.#isRefused && !wasRefused) this.#logger.error({ err: error }, text);
    else this.#logger.warn({ err: error }, text);
  }

  answered(): void {
    this.#isRefused = false;
  }
}

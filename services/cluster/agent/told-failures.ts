import type { Logger } from 'pino';
import { isUnverified } from '../../../packages/kube-api/send.ts';
import { type FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';

/** These pass by no waiting: the API server does not know us. */
const LASTING: readonly FleetGcError['code'][] = ['API_REFUSED', 'API_NO_CREDENTIALS'];
/** A single one passes as a rule, as where the API server is started again. */
const PASSING_FAILURES = 1;

/** What lasts until somebody sees to it is told once as an error, and as a warning each time besides. */
export class ToldFailures {
  readonly #logger: Pick<Logger, 'error' | 'warn'>;
  #failures = 0;
  /** A wrong certificate is told also where an API server that was away comes back with it. */
  #told: 'certificate' | 'other' | null = null;

  constructor(logger: Pick<Logger, 'error' | 'warn'>) {
    this.#logger = logger;
  }

  /** Throws what no retry mends. */
  failed(thrown: unknown, text: string): void {
    const error = toFleetGcError(thrown);
    if (!error.retry) throw error;
    this.#failures++;
    const why = isUnverified(error) ? 'certificate' : 'other';
    const lasts = why === 'certificate' || LASTING.includes(error.code) || this.#failures > PASSING_FAILURES;
    if (lasts && this.#told !== why) {
      this.#told = why;
      this.#logger.error({ err: error }, text);
    } else this.#logger.warn({ err: error }, text);
  }

  answered(): void {
    this.#failures = 0;
    this.#told = null;
  }
}

import type { Logger } from 'pino';
import { FleetGcError } from '../process/errors.ts';
import type { Metrics } from '../process/metrics.ts';

/** What a decision service knows of whether anybody believes it. */
export interface Belief {
  /**
   * Why nobody would believe an order that is signed now, in a sentence; `null` where it would be believed, where orders need no
   * signature, and where nobody knows the keys yet.
   */
  readonly problem: () => string | null;
  /** Resolves after `ms`, or at once when the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** A new key that is believed counts as soon. */
const LOOK_EVERY_MS = 500;

interface KeyGateNeeds {
  readonly decider: string;
  readonly belief: Belief;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Messages wait here while nobody would believe what is decided on them, and go on where they were when somebody does. */
export class KeyGate {
  readonly #needs: KeyGateNeeds;
  #waiting = 0;
  #told: string | null = null;

  constructor(needs: KeyGateNeeds) {
    const { metrics, decider } = needs;
    this.#needs = needs;
    metrics.gauge(
      'decisions_wait_for_key',
      'Whether messages wait because nobody would believe what is decided on them.',
      ['decider'],
      () => [[{ decider }, Number(this.#waiting > 0)]],
    );
  }

  /** Resolves when what is decided now would be believed, or when the signal aborts. */
  async opened(signal: AbortSignal): Promise<void> {
    const { belief } = this.#needs;
    this.#tell(belief.problem());
    if (belief.problem() === null) return;
    this.#waiting += 1;
    while (!signal.aborted && belief.problem() !== null) await belief.wait(LOOK_EVERY_MS, signal);
    this.#waiting -= 1;
    if (!signal.aborted) this.#tell(null);
  }

  /** Throws `KEYS_UNREADABLE`, upon which the messages in hand come again: what was decided on them was signed by a key that counts no more. */
  require(): void {
    const problem = this.#needs.belief.problem();
    this.#tell(problem);
    if (problem !== null) throw new FleetGcError('KEYS_UNREADABLE', problem);
  }

  /** Once for each time. */
  #tell(problem: string | null): void {
    const { logger } = this.#needs;
    if (problem !== null && this.#told === null)
      logger.warn(`nothing is decided until another key signs: ${problem}. Messages wait on the event log`);
    if (problem === null && this.#told !== null) logger.info('what is decided is believed again');
    this.#told = problem;
  }
}

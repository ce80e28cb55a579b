import type { Logger } from 'pino';
import type { Sleep } from '../../../../packages/process/backoff.ts';
import type { ClusterPolicyInForce } from '../ports.ts';
import { unreadableText } from './permission.ts';

interface ReadablePoliciesParts {
  readonly policy: () => ClusterPolicyInForce;
  readonly sleep: Sleep;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
}

/** How often it is looked whether they can be read again. */
const LOOK_AGAIN_MS = 1_000;

/** While policies cannot be read nothing is done, and orders wait: what ends by itself shall not cost them a refusal. */
export class ReadablePolicies {
  readonly #parts: ReadablePoliciesParts;
  #isWaiting = false;

  constructor(parts: ReadablePoliciesParts) {
    this.#parts = parts;
  }

  /** Why nothing may be done now; `null` where they can be read. */
  objection(): string | null {
    const inForce = this.#parts.policy();
    return inForce.kind === 'unreadable' ? unreadableText(inForce.message) : null;
  }

  /** Resolves when they can be read; false where the signal aborted before. */
  async areRead(signal: AbortSignal): Promise<boolean> {
    for (let why = this.objection(); why !== null; why = this.objection()) {
      if (signal.aborted) return false;
      if (!this.#isWaiting) this.#parts.logger.warn(`orders wait: ${why}`);
      this.#isWaiting = true;
      await this.#parts.sleep(LOOK_AGAIN_MS, signal);
    }
    if (this.#isWaiting) this.#parts.logger.info('policies can be read again, so orders wait no longer');
    this.#isWaiting = false;
    return true;
  }
}

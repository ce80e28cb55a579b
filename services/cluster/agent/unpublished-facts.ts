import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { AgentFact, AgentParts } from './agent-parts.ts';

/** Facts that the event log has not taken yet, and since when they wait. */
export class UnpublishedFacts {
  readonly #nowMs: () => number;
  readonly #sinceMs = new Map<string, number>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** How long the oldest of them waits; 0 where none does. */
  get oldestMs(): number {
    return this.#sinceMs.size === 0 ? 0 : this.#nowMs() - Math.min(...this.#sinceMs.values());
  }

  /** Publishes as before; a fact that is refused for now counts until it is taken. */
  noting(publish: AgentParts['publish']): AgentParts['publish'] {
    return async (fact) => {
      if (!this.#sinceMs.has(fact.id)) this.#sinceMs.set(fact.id, this.#nowMs());
      try {
        await publish(fact);
        this.#sinceMs.delete(fact.id);
      } catch (error) {
        this.#noteFailure(fact, error);
        throw error;
      }
    };
  }

  #noteFailure({ id }: AgentFact, error: unknown): void {
    const { code, retry } = toFleetGcError(error);
    if (!retry || code === 'LOG_RECORD_TOO_LARGE') this.#sinceMs.delete(id);
  }
}

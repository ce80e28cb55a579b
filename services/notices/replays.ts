import type { EventLog, LogRecord } from '../../packages/log/port.ts';
import { believedGenerations } from '../../packages/policy/seen-versions.ts';
import { SeenGenerations } from '../../packages/records/trust/seen-generations.ts';
import { claimedSignature } from '../../packages/records/trust/signature.ts';
import type { Trust } from '../../packages/records/trust/trust.ts';

/** Finds policies, pauses and approvals of long ago that somebody put back: they count nowhere, so nobody is told of them. */
export class Replays {
  readonly #log: Pick<EventLog, 'read'>;
  readonly #trust: Trust;
  readonly #seen = new SeenGenerations();
  #isLearnt = false;

  constructor(log: Pick<EventLog, 'read'>, trust: Trust) {
    this.#log = log;
    this.#trust = trust;
  }

  /** Of a record of `gc.policies` that is believed. Rejects where the log cannot tell what there was before. */
  async has({ key, headers }: LogRecord, signal: AbortSignal): Promise<boolean> {
    const claimed = claimedSignature(headers);
    if (key === null || claimed.kind !== 'claimed' || claimed.signature.generation === null) return false;
    const { generation } = claimed.signature;
    if (!this.#isLearnt) await this.#learn(signal);
    if (generation < this.#seen.of('policies', key)) return true;
    this.#seen.saw('policies', new Map([[key, generation]]));
    return false;
  }

  async #learn(signal: AbortSignal): Promise<void> {
    const judging = { trust: this.#trust, onRefused: () => undefined };
    this.#seen.saw('policies', await believedGenerations(this.#log, judging, signal));
    this.#isLearnt = true;
  }
}

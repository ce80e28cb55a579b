import type { BelievedHead } from '../../../records/read-heads.ts';
import { counted } from '../../../text/counted.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import { SETTLED_MS } from '../coverage.ts';
import type { Gap } from '../findings.ts';
import { SaidStatements } from './missing-statements.ts';

/** All heads of what is verified, one after the other. */
export class OwnHeads {
  /** What is known of keys. */
  readonly known: ReadonlyMap<string, number>;
  readonly said: SaidStatements;
  decisionHeads = 0;
  readonly #comparedFromMs: number;
  #outOfTime = 0;
  #firstOutOfTime: Place | null = null;

  /** Decisions are compared with the heads that the log took from `comparedFromMs` on. */
  constructor(known: ReadonlyMap<string, number>, comparedFromMs: number) {
    this.known = known;
    this.said = new SaidStatements(known);
    this.#comparedFromMs = comparedFromMs;
  }

  take(head: BelievedHead): void {
    this.said.take(head);
    if (head.event.type !== 'fleetgc.decision-head') return;
    this.decisionHeads += 1;
    const lastAtMs = Math.max(0, ...head.event.ranges.map((range) => range.lastAtMs));
    const isTaken = head.record.timestampMs >= this.#comparedFromMs - SETTLED_MS;
    if (isTaken || lastAtMs < this.#comparedFromMs + SETTLED_MS) return;
    this.#outOfTime += 1;
    this.#firstOutOfTime ??= placeOf(head.record);
  }

  /** Heads that were passed over, although their writers say that what they name was to be compared. */
  outOfTime(): readonly Gap[] {
    if (this.#firstOutOfTime === null) return [];
    const isOne = this.#outOfTime === 1;
    return [
      {
        kind: 'head-out-of-time',
        message: `the log took ${counted(this.#outOfTime, 'head')} long before ${isOne ? 'its writer' : 'their writers'} wrote what ${isOne ? 'it names' : 'they name'}: a clock was wrong, or somebody changed ${isOne ? 'its time' : 'their times'}. What ${isOne ? 'it names' : 'they name'} was not compared; verify from before ${isOne ? 'it' : 'the first'}`,
        node: null,
        places: [this.#firstOutOfTime],
      },
    ];
  }
}

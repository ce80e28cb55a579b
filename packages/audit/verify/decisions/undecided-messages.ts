import type { DeadLetter } from '../../../../schemas/events/dead-letter.ts';
import { isOffsetText } from '../../../../schemas/events/offset-text.ts';
import type { LogRecord } from '../../../log/port.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import type { DecisionHead } from '../../events/recorded-decision.ts';
import type { Judging } from '../coverage.ts';
import type { Findings } from '../findings.ts';
import { DECIDES_ON } from './inputs.ts';

/** Consumer groups are called after their deciders. */
const groupOf = (decider: string): string => `fleetgc-${decider}`;

/** Redelivered messages, and those from before the range, are decided and never come by. */
const MOST_EARLY = 10_000;

interface Awaited {
  readonly place: Place;
  readonly node: string | null;
}

/** The messages that one decider has not decided on yet, and how far it has come. */
interface Progress {
  readonly decider: string;
  readonly topic: string;
  readonly awaited: Map<bigint, Awaited>;
  /** Decided before they came by, since brokers' clocks differ. */
  readonly early: Set<bigint>;
  /** The last offset that it decided on; `null` when it decided nothing here. */
  last: bigint | null;
}

/** Of a node with many dead letters, one may stand for messages before it. Returns how many messages these can have been. */
function forgetCounted({ awaited }: Progress, { key, offset, suppressedBefore }: DeadLetter): number {
  const node = key === null ? null : Buffer.from(key, 'base64').toString();
  const counted = [...awaited]
    .filter(([before, waiting]) => waiting.node === node && before < BigInt(offset))
    .toReversed()
    .slice(0, suppressedBefore);
  for (const [before] of counted) awaited.delete(before);
  return counted.length;
}

/** Finds messages that a decider passed over: it takes them in their order, so it has decided or given up all before its last. */
export class UndecidedMessages {
  readonly #findings: Findings;
  readonly #all: readonly Progress[] = Object.entries(DECIDES_ON).flatMap(([decider, topics]) =>
    topics.map((topic) => ({ decider, topic, awaited: new Map(), early: new Set(), last: null })),
  );

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  arrived(record: LogRecord): void {
    for (const { topic, awaited, early } of this.#all)
      if (topic === record.topic && !early.delete(record.offset))
        awaited.set(record.offset, { place: placeOf(record), node: record.key });
  }

  decided({ decider, input }: DecisionHead): void {
    const progress = this.#all.find((one) => one.topic === input.topic && one.decider === decider.name);
    if (progress === undefined || !isOffsetText(input.offset)) return;
    const offset = BigInt(input.offset);
    if (!progress.awaited.delete(offset)) progress.early.add(offset);
    if (progress.last === null || offset > progress.last) progress.last = offset;
  }

  givenUp(letter: DeadLetter): void {
    const { counts } = this.#findings;
    const progress = this.#all.find(
      (one) => one.topic === letter.topic && groupOf(one.decider) === letter.group,
    );
    if (progress === undefined || !isOffsetText(letter.offset)) return;
    const offset = BigInt(letter.offset);
    if (progress.awaited.delete(offset)) counts.deadLettered++;
    else progress.early.add(offset);
    counts.deadLettered += forgetCounted(progress, letter);
  }

  judge(judging: Judging): void {
    for (const progress of this.#all) {
      for (const [offset, waiting] of progress.awaited)
        if (waiting.place.timestampMs < judging.beforeMs)
          this.#judgeOne(progress, { offset, ...waiting }, judging);
      if (progress.early.size > MOST_EARLY) progress.early.clear();
    }
  }

  #judgeOne(
    { awaited, decider, last }: Progress,
    { offset, place, node }: Awaited & { readonly offset: bigint },
    { atEnd }: Judging,
  ): void {
    const mayCome = last !== null && offset > last;
    if (mayCome && !atEnd) return;
    awaited.delete(offset);
    // Whoever does not run here decides nothing.
    if (last === null) return;
    if (mayCome) this.#findings.counts.open++;
    else
      this.#findings.deviation({
        kind: 'undecided',
        message: `${decider} has no decision about it, and decided on later ones; there is no dead letter of it either`,
        node,
        places: [place],
      });
  }
}

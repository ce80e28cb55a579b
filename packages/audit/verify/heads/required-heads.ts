import { TOPICS } from '../../../../schemas/events/topics.ts';
import type { LogRecord } from '../../../log/port.ts';
import { counted } from '../../../text/counted.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import { AROUND_MS } from '../coverage.ts';
import type { Findings } from '../findings.ts';
import type { HeadedRange } from './decision-ranges.ts';

/** Chains that are remembered although no head names anything of them: each is a service that did not live to sign. */
const MOST_HEADLESS = 1_000;
/** As in heads. */
const MOST_NAME_LENGTH = 64;

/** Some decisions in their order. */
class Some {
  count = 0;
  first: LogRecord | null = null;
  last: LogRecord | null = null;

  add(record: LogRecord): void {
    this.count += 1;
    this.first ??= record;
    this.last = record;
  }

  addAll({ count, first, last }: Some): void {
    this.count += count;
    this.first ??= first;
    this.last = last ?? this.last;
  }

  get spanMs(): number {
    return (this.last?.timestampMs ?? 0) - (this.first?.timestampMs ?? 0);
  }

  get places(): readonly Place[] {
    return [this.first, this.last].flatMap((record) => (record === null ? [] : [placeOf(record)]));
  }
}

/**
 * Decisions of one partition that no head names, where heads are required. A service that ends without a word leaves some minutes of
 * them, and so does a broker that does not say what it took: these are not verified. All others deviate.
 */
export class RequiredHeads {
  /** What came later may be too young for a head. */
  readonly #beforeMs: number;
  readonly #explained = new Some();
  readonly #others = new Some();
  readonly #headless = new Map<string, Some>();

  constructor(beforeMs: number) {
    this.#beforeMs = beforeMs;
  }

  /** `near` is what heads name of its chain before and after it. */
  take(record: LogRecord, near: readonly HeadedRange[]): void {
    if (record.timestampMs >= this.#beforeMs) return;
    const { ce_fleetgcchain: chain = '' } = record.headers;
    if (near.length > 0)
      (near.some((range) => isAbout(range, record)) ? this.#explained : this.#others).add(record);
    else (this.#ofHeadless(chain) ?? this.#others).add(record);
  }

  finish({ gap, deviation }: Pick<Findings, 'gap' | 'deviation'>): void {
    for (const chain of this.#headless.values())
      (chain.spanMs <= AROUND_MS ? this.#explained : this.#others).addAll(chain);
    if (this.#explained.count > 0)
      gap({
        kind: 'without-head',
        ...found(
          this.#explained,
          'their service ended without a word, or the brokers did not say that they took them',
        ),
      });
    if (this.#others.count > 0)
      deviation({
        kind: 'no-heads',
        ...found(this.#others, 'nobody signed heads, or heads were taken away'),
      });
  }

  #ofHeadless(chain: string): Some | null {
    const known = this.#headless.get(chain);
    if (known !== undefined) return known;
    if (chain === '' || chain.length > MOST_NAME_LENGTH || this.#headless.size >= MOST_HEADLESS) return null;
    const some = new Some();
    this.#headless.set(chain, some);
    return some;
  }
}

const isAbout = ({ firstAtMs, lastAtMs }: HeadedRange, { timestampMs }: LogRecord): boolean =>
  timestampMs >= firstAtMs - AROUND_MS && timestampMs <= lastAtMs + AROUND_MS;

function found({ count, first, places }: Some, why: string) {
  const where = `${first?.topic ?? TOPICS.decisions.name}/${first?.partition ?? 0}`;
  return {
    message: `${counted(count, 'decision')} in ${where} ${count === 1 ? 'is' : 'are'} named by no head, though there was time to sign: ${why}`,
    node: null,
    places,
  };
}

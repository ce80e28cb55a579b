import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { ObjectResult, Removed } from '../../../schemas/events/result.ts';
import type { AuditReport } from '../../../schemas/reports/audit-report.ts';
import {
  addFreed,
  type FreedSums,
  freedSpace,
  NOTHING_FREED,
  withFreed,
} from '../../decision/freed-space.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../process/durations.ts';

interface Sum {
  readonly objects: number;
  readonly freed: FreedSums;
}

const NOTHING: Sum = { objects: 0, freed: NOTHING_FREED };

const add = (a: Sum, b: Sum): Sum => ({
  objects: a.objects + b.objects,
  freed: addFreed(a.freed, b.freed),
});

interface RuleSum {
  readonly kind: ObjectKind;
  readonly rule: string;
  readonly sum: Sum;
}

/** Sums what went, by rule and by minute. */
export class Removals {
  readonly #byRule = new Map<string, RuleSum>();
  readonly #byMinute = new Map<number, Sum>();

  removed({ object, rule }: ObjectResult, { measured, estimatedBytes }: Removed, atMs: number): void {
    const one = { objects: 1, freed: withFreed(NOTHING_FREED, freedSpace(measured, estimatedBytes)) };
    const key = `${object.kind} ${rule}`;
    const sum = add(this.#byRule.get(key)?.sum ?? NOTHING, one);
    this.#byRule.set(key, { kind: object.kind, rule, sum });
    const minute = Math.floor(atMs / MINUTE_MS);
    this.#byMinute.set(minute, add(this.#byMinute.get(minute) ?? NOTHING, one));
  }

  total(): AuditReport['removed'] {
    return {
      ...asText([...this.#byMinute.values()].reduce(add, NOTHING)),
      byRule: [...this.#byRule.values()]
        .toSorted(mostBytesFirst)
        .map(({ kind, rule, sum }) => ({ kind, rule, ...asText(sum) })),
      bySpan: spansOf(this.#byMinute),
    };
  }
}

function mostBytesFirst({ sum: a }: RuleSum, { sum: b }: RuleSum): number {
  const [first, second] = [a.freed.freedBytes, b.freed.freedBytes];
  return Number(second > first) - Number(second < first) || b.objects - a.objects;
}

const asText = ({ objects, freed: { freedBytes, unmeasured, estimatedBytes } }: Sum) => ({
  objects,
  freedBytes: String(freedBytes),
  unmeasured,
  estimatedBytes: String(estimatedBytes),
});

/** So many bars are easy to take in. */
const MOST_SPANS = 72;

function spansOf(byMinute: ReadonlyMap<number, Sum>): AuditReport['removed']['bySpan'] {
  const minutes = [...byMinute.keys()];
  const first = minutes.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const last = minutes.reduce((a, b) => Math.max(a, b), 0);
  const wholeMs = (last - first + 1) * MINUTE_MS;
  const spanMs = [MINUTE_MS, HOUR_MS].find((span) => wholeMs / span <= MOST_SPANS) ?? DAY_MS;
  const groups = Map.groupBy(byMinute, ([minute]) => Math.floor((minute * MINUTE_MS) / spanMs) * spanMs);
  const spans = [...groups].map(([startMs, group]) => ({
    startMs,
    ...asText(group.map(([, sum]) => sum).reduce(add, NOTHING)),
  }));
  return { spanMs, spans: spans.toSorted((a, b) => a.startMs - b.startMs) };
}

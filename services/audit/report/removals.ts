import type { AuditReport } from '../../../schemas/audit-report.ts';
import type { ObjectKind } from '../../../schemas/command.ts';
import type { ObjectResult } from '../../../schemas/result.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from './spans.ts';

interface Sum {
  objects: number;
  freedBytes: bigint;
}

type Removed = Extract<ObjectResult['result'], { readonly outcome: 'removed' }>;

/** Sums what went, by rule and by minute. */
export function createRemovals() {
  const all: Sum = { objects: 0, freedBytes: 0n };
  const byRule = new Map<string, Sum & { readonly kind: ObjectKind; readonly rule: string }>();
  const byMinute = new Map<number, Sum>();
  let unmeasured = 0;

  const ofRule = ({ object: { kind }, rule }: ObjectResult) => {
    const key = `${kind} ${rule}`;
    const known = byRule.get(key) ?? { kind, rule, objects: 0, freedBytes: 0n };
    byRule.set(key, known);
    return known;
  };
  const ofMinute = (atMs: number): Sum => {
    const minute = Math.floor(atMs / MINUTE_MS);
    const known = byMinute.get(minute) ?? { objects: 0, freedBytes: 0n };
    byMinute.set(minute, known);
    return known;
  };

  return {
    removed: (event: ObjectResult, { measured }: Removed, atMs: number): void => {
      if (measured === null) unmeasured++;
      const freed = measured === null ? 0n : BigInt(measured.afterBytes) - BigInt(measured.beforeBytes);
      for (const sum of [all, ofRule(event), ofMinute(atMs)]) {
        sum.objects++;
        sum.freedBytes += freed;
      }
    },
    total: (): AuditReport['removed'] => ({
      objects: all.objects,
      freedBytes: String(all.freedBytes),
      unmeasured,
      byRule: [...byRule.values()].toSorted(mostBytesFirst).map(asText),
      bySpan: spansOf(byMinute),
    }),
  };
}

const mostBytesFirst = (a: Sum, b: Sum): number =>
  Number(b.freedBytes > a.freedBytes) - Number(b.freedBytes < a.freedBytes) || b.objects - a.objects;

const asText = <Given extends Sum>({ freedBytes, ...rest }: Given) => ({
  ...rest,
  freedBytes: String(freedBytes),
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
    objects: group.reduce((sum, [, { objects }]) => sum + objects, 0),
    freedBytes: String(group.reduce((sum, [, { freedBytes }]) => sum + freedBytes, 0n)),
  }));
  return { spanMs, spans: spans.toSorted((a, b) => a.startMs - b.startMs) };
}

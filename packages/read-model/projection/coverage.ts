/** A part of the log by its own clock, epoch milliseconds: from `fromMs` up to and without `toMs`. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What was read with one more span: in the order of time, and none touches another. */
export function withSpan(covered: readonly Span[], added: Span): readonly Span[] {
  const merged: Span[] = [];
  for (const span of [...covered, added].toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = merged.at(-1);
    if (last === undefined || span.fromMs > last.toMs) merged.push(span);
    else merged[merged.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, span.toMs) };
  }
  return merged;
}

/** The newest span that was not read, no longer than `mostMs`; `null` where all since `sinceMs` and before `beforeMs` was. */
export function nextGap(
  covered: readonly Span[],
  {
    sinceMs,
    beforeMs,
    mostMs,
  }: { readonly sinceMs: number; readonly beforeMs: number; readonly mostMs: number },
): Span | null {
  let toMs = beforeMs;
  let floorMs = sinceMs;
  for (const span of covered.toReversed()) {
    if (span.fromMs >= toMs) continue;
    if (span.toMs >= toMs) toMs = span.fromMs;
    else {
      floorMs = Math.max(sinceMs, span.toMs);
      break;
    }
  }
  return toMs <= floorMs ? null : { fromMs: Math.max(floorMs, toMs - mostMs), toMs };
}

import type { Candidate, Removal, Spared } from './candidates.ts';

/** What ends a removal of images. */
export type Goal =
  /** Every image that nobody used for longer than that (E3); `null` is an image that was never used. */
  | {
      readonly kind: 'unused';
      readonly maximumAgeMs: number;
      readonly unusedMs: (candidate: Candidate) => number | null;
    }
  /** The image at which the listed sizes reach `missing` (D12), and with `oneAtLeast` one in any case (D13). */
  | { readonly kind: 'bytes'; readonly missing: bigint; readonly oneAtLeast: boolean }
  /** Nothing: every candidate goes (F1), or measuring tells when it is enough (M13). */
  | { readonly kind: 'none' };

export interface Selection {
  /** In the order in which they go, however many one command may hold. */
  readonly removals: readonly Removal[];
  readonly spared: readonly Spared[];
}

/** Which candidates go, of those given in the order of removal (D8). */
export function select(ordered: readonly Candidate[], goal: Goal): Selection {
  switch (goal.kind) {
    case 'unused':
      return unused(ordered, goal);
    case 'bytes':
      return untilReached(ordered, goal);
    case 'none':
      return { removals: ordered.map(toMakeRoom), spared: [] };
  }
}

function unused(
  ordered: readonly Candidate[],
  { maximumAgeMs, unusedMs }: Extract<Goal, { kind: 'unused' }>,
): Selection {
  const removals: Removal[] = [];
  const spared: Spared[] = [];
  for (const candidate of ordered) {
    const ageMs = unusedMs(candidate);
    if (ageMs === null || ageMs > maximumAgeMs) removals.push({ ...candidate, rule: 'E3' });
    else spared.push({ ...candidate, rule: 'E3', facts: { unusedMs: ageMs, maximumAgeMs } });
  }
  return { removals, spared };
}

function untilReached(
  ordered: readonly Candidate[],
  { missing, oneAtLeast }: Extract<Goal, { kind: 'bytes' }>,
): Selection {
  let freed = 0n;
  let count = 0;
  for (const { image } of ordered) {
    if (freed >= missing && (count > 0 || !oneAtLeast)) break;
    freed += BigInt(image.sizeBytes);
    count += 1;
  }
  return {
    removals: ordered.slice(0, count).map(toMakeRoom),
    spared: ordered.slice(count).map((candidate, index) => ({
      ...candidate,
      rule: 'D12',
      facts: { place: count + index + 1, removed: count },
    })),
  };
}

const toMakeRoom = (candidate: Candidate): Removal => ({ ...candidate, rule: 'D11' });

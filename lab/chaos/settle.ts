import { setTimeout as sleep } from 'node:timers/promises';
import type { Violation } from './judge/evidence.ts';
import { RELIEF_MS } from './judge/relief.ts';

export const LOOK_EVERY_MS = 300;
/** What is well for so long stays well. */
const CALM_LOOKS = 5;

export interface Settled<Evidence> {
  /** As it was seen last: what begins afterwards has not come to its end. */
  readonly evidence: Evidence;
  /** `null`: it did not come to rest within the bound, and the judge will say why. */
  readonly settledMs: number | null;
}

interface ToSettle<Evidence> {
  /** Throws where something is gone by no fault of the product. */
  readonly look: () => Evidence;
  readonly judge: (evidence: Evidence) => readonly Violation[];
  readonly lookEveryMs: number;
}

/** Waits until all is answered and relieved, or the time for that is over. */
export async function settle<Evidence>(
  { look, judge, lookEveryMs }: ToSettle<Evidence>,
  signal: AbortSignal,
): Promise<Settled<Evidence>> {
  const fromMs = Date.now();
  let calm = 0;
  while (Date.now() - fromMs < RELIEF_MS) {
    await sleep(lookEveryMs, undefined, { signal });
    const evidence = look();
    calm = judge(evidence).some(mayPass) ? 0 : calm + 1;
    if (calm === CALM_LOOKS) return { evidence, settledMs: Date.now() - fromMs - CALM_LOOKS * lookEveryMs };
  }
  return { evidence: look(), settledMs: null };
}

/** What is not answered or relieved yet may be; everything else is done. */
const mayPass = ({ invariant }: Violation): boolean => invariant === 'lost' || invariant === 'relief';

import { readFileSync } from 'node:fs';

/**
 * A bound ends what hangs and judges nothing, so what waits is given many times what a quiet machine needs: a machine at
 * work may well be ten times as slow. Bounds are written as what is usual, and stretched where they are waited for.
 */
const PATIENCE = 10;
/** So often what is usual is waited where nothing else was at work: what has not come by then does not come. */
const QUIET_PATIENCE = 2;

/** So long may last what usually takes `usualMs` at the most. */
export const patiently = (usualMs: number): number => PATIENCE * usualMs;

/** For `vi.waitFor` and `expect.poll`. */
export const PATIENT = { timeout: patiently(10_000), interval: 20 } as const;

/** What ends one wait. */
export interface Patience {
  /** Whether all of it is used up; asked again and again while something is waited for. */
  isOver(): boolean;
  readonly waitedMs: number;
}

/**
 * The patience for what usually takes `usualMs` at the most. Time in which something on this machine had to wait for a
 * processor or a disk does not count, so a wait that hangs ends soon where nobody is at work, and `patiently(usualMs)` is
 * the most it can last anywhere.
 */
export function patience(usualMs: number): Patience {
  const startedAt = performance.now();
  let readAt = startedAt;
  let stalled = stalledMs();
  let quietMs = 0;
  return {
    get waitedMs() {
      return performance.now() - startedAt;
    },
    isOver() {
      const now = performance.now();
      const stalledNow = stalledMs();
      quietMs += Math.max(0, now - readAt - (stalledNow - stalled));
      readAt = now;
      stalled = stalledNow;
      return quietMs > QUIET_PATIENCE * usualMs || now - startedAt > patiently(usualMs);
    },
  };
}

/** Milliseconds in which something had to wait, since the machine started; where the kernel does not tell, none. */
function stalledMs(): number {
  return ['cpu', 'io'].map(stalledForMs).reduce((sum, ms) => sum + ms, 0);
}

function stalledForMs(resource: string): number {
  try {
    const [, micros] = /^some .*total=(\d+)$/m.exec(readFileSync(`/proc/pressure/${resource}`, 'utf8')) ?? [];
    return Number(micros ?? 0) / 1000;
  } catch {
    return 0;
  }
}

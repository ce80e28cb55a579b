import { onTestFinished, vi } from 'vitest';

/** The wall clock stands still until the test ends, for tests that ask one thing of two programs that read it. */
export function standingClock(): void {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
}

import type { FailedMessage } from './dead-letters/dead-letters.ts';
import type { Handled } from './decide.ts';

/** What becomes of a message that nothing follows from. */
export const withoutOutputs = (failure: FailedMessage): Handled => ({
  record: failure.record,
  stages: [],
  failure,
  isOvertaken: false,
});

/** Of each message whose it was, and whether it failed. */
export function outcomesOf(handled: readonly Handled[], failed: readonly FailedMessage[]) {
  const failures = new Set(failed.map(({ record }) => record));
  return handled.map(({ record }) => ({ key: record.key, failed: failures.has(record) }));
}

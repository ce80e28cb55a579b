import type { Metrics } from '../../packages/process/metrics.ts';
import { DropReason } from '../../schemas/notices/notice.ts';

const OUTCOMES = ['delivered', ...DropReason.options] as const;
type NoticeOutcome = (typeof OUTCOMES)[number];

/** What is counted on the way to one receiver. */
export interface LaneMetrics {
  ended(outcome: NoticeOutcome, notices: number): void;
  failedAttempt(): void;
  /** `waiting` tells how many notices wait now. */
  watch(waiting: () => number): void;
}

/** The receivers are those of the rule file. */
export function laneMetrics(metrics: Metrics, receiver: string): LaneMetrics {
  const labels = { receiver: [receiver] };
  const ended = metrics.count('notices_total', 'Notices that are done with, by what became of them.', {
    ...labels,
    outcome: OUTCOMES,
  });
  const failed = metrics.count(
    'notice_attempts_failed_total',
    'Attempts to reach a receiver that failed.',
    labels,
  );
  return {
    ended: (outcome, notices) => ended.add({ receiver, outcome }, notices),
    failedAttempt: () => failed.add({ receiver }),
    watch: (waiting) =>
      metrics.gauge('notices_waiting', 'Notices that wait for their receiver.', ['receiver'], () => [
        [{ receiver }, waiting()],
      ]),
  };
}

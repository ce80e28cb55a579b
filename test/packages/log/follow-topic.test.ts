import { expect, test } from 'vitest';
import { FollowedTopic, type TopicFollower } from '../../../packages/log/follow-topic.ts';
import type { EventLog, LogReader } from '../../../packages/log/port.ts';
import { untilAborted } from '../../../packages/process/loops.ts';
import { leftAt } from '../../support/left-at-signal.ts';
import { within } from './probe.ts';

const PASSES = 20;
const FOLLOWER: TopicFollower = {
  begin() {},
  take: () => 'taken',
  caughtUp() {},
  fail() {},
};
const FAILING: LogReader & Pick<EventLog, 'health'> = {
  async *read(_request, signal) {
    signal?.addEventListener('abort', () => undefined);
    throw new Error('the log is away');
  },
  health: () => ({ connected: false, problem: null }),
};

test('passes that are over leave nothing at the signal that ends them all', async () => {
  const enough = Promise.withResolvers<readonly number[]>();
  const left: number[] = [];
  // Waits end with the follower: this is the signal that lives as long as it.
  const wait = async (_ms: number, closing: AbortSignal): Promise<void> => {
    left.push(leftAt(closing));
    if (left.length < PASSES) return;
    enough.resolve(left);
    await untilAborted(closing);
  };
  const sources = { now: () => 0, random: () => 0, wait };
  const following = { log: FAILING, topic: 'gc.keys', what: 'keys', recheckMs: null, sources } as const;
  await using _followed = new FollowedTopic(following, FOLLOWER);

  expect(await within('the passes to fail', enough.promise)).toEqual(Array(PASSES).fill(0));
});

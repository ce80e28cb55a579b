import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ServerClock } from '../../../packages/kube-api/server-clock.ts';
import { runs } from '../../support/property-runs.ts';

const DATE_MS = 1_800_000_000_000;
const clockTold = (...answers: [dateMs: number, sentAtMs: number, receivedAtMs: number][]): ServerClock => {
  const clock = new ServerClock();
  for (const [dateMs, sentAtMs, receivedAtMs] of answers) clock.told({ dateMs, sentAtMs, receivedAtMs });
  return clock;
};

test('the server wrote its whole second after we asked and before we had the answer', () => {
  const clock = clockTold([DATE_MS, 100, 150]);
  expect(clock.at(150)).toEqual({ earliestMs: DATE_MS, latestMs: DATE_MS + 1_050 });
  expect(clock.at(1_150)).toEqual({ earliestMs: DATE_MS + 1_000, latestMs: DATE_MS + 2_050 });
});

test('bounds are whole milliseconds, however fine our own clock is', () => {
  expect(clockTold([DATE_MS, 100.3, 150.7]).at(200.9)).toEqual({
    earliestMs: DATE_MS + 50,
    latestMs: DATE_MS + 1_101,
  });
});

test('without an answer, or one within a minute, no time is known', () => {
  expect(clockTold().at(0)).toBeNull();
  const clock = clockTold([DATE_MS, 0, 0]);
  expect([clock.at(60_000) === null, clock.at(60_001)]).toEqual([false, null]);
});

test('the silence is that since the last answer', () => {
  expect([clockTold().silentForMs(5), clockTold([DATE_MS, 0, 7]).silentForMs(10)]).toEqual([null, 3]);
});

test('after a step of more than ten seconds no time is believed until answers agree for a minute', () => {
  const STEP_MS = 12_000;
  const clock = clockTold([DATE_MS, 0, 0], [DATE_MS + STEP_MS, 0, 0]);
  expect(clock.at(0)).toBeNull();
  clock.told({ dateMs: DATE_MS + STEP_MS + 59_000, sentAtMs: 59_000, receivedAtMs: 59_000 });
  expect(clock.at(59_999)).toBeNull();
  expect(clock.at(60_000)?.earliestMs).toBe(DATE_MS + STEP_MS + 60_000);
});

test('a step back counts as well, and a smaller one is believed', () => {
  expect(clockTold([DATE_MS, 0, 0], [DATE_MS - 12_000, 0, 0]).at(0)).toBeNull();
  expect(clockTold([DATE_MS, 0, 0], [DATE_MS - 10_000, 0, 0]).at(0)?.earliestMs).toBe(DATE_MS - 10_000);
});

test('an answer that was overtaken changes nothing', () => {
  expect(clockTold([DATE_MS + 5_000, 5_000, 5_000], [DATE_MS + 1_000, 0, 4_000]).at(5_000)?.earliestMs).toBe(
    DATE_MS + 5_000,
  );
});

test('the true time always lies within the bounds', () => {
  fc.assert(
    fc.property(
      fc.nat(100_000),
      fc.nat(5_000),
      fc.nat(5_000),
      fc.nat(60_000),
      (startMs, sendMs, backMs, laterMs) => {
        const trueAt = (monotonicMs: number): number => DATE_MS + startMs + monotonicMs;
        const dateMs = Math.floor(trueAt(sendMs) / 1_000) * 1_000;
        const receivedAtMs = sendMs + backMs;
        const time = clockTold([dateMs, 0, receivedAtMs]).at(receivedAtMs + laterMs);
        const now = trueAt(receivedAtMs + laterMs);
        expect(time !== null && time.earliestMs <= now && now <= time.latestMs).toBe(true);
      },
    ),
    runs(1_000),
  );
});

import { expect, test } from 'vitest';
import { createFleetTime } from '../../../../lab/sim/fleet/fleet-time.ts';

const { signal } = new AbortController();

/** A machine on which each turn of the event loop takes `turnMs`. */
function machine({ rate, turnMs = 0 }: { rate: number | null; turnMs?: number }) {
  let realMs = 0;
  return createFleetTime({
    rate,
    realNow: () => realMs,
    yieldToEventLoop: async () => {
      realMs += turnMs;
    },
    wait: async (ms) => {
      realMs += ms;
    },
  });
}

test('timers are called in the order of their times, and those of one time in the order in which they were made', async () => {
  const time = machine({ rate: 1 });
  const called: string[] = [];
  for (const [atMs, name] of [
    [30, 'c'],
    [10, 'a'],
    [20, 'b1'],
    [20, 'b2'],
    [40, 'late'],
  ] as const)
    time.at(atMs, () => called.push(`${name} at ${time.now()}`));
  time.at(15, () => called.push('never'))();
  await time.run(35, signal);
  expect(called).toEqual(['a at 10', 'b1 at 20', 'b2 at 20', 'c at 30']);
  expect(time.now()).toBe(35);
});

test('a timer that is made while time passes has its turn', async () => {
  const time = machine({ rate: null });
  const called: number[] = [];
  time.at(10, () => time.at(12, () => called.push(time.now())));
  time.at(20, () => called.push(time.now()));
  await time.run(30, signal);
  expect(called).toEqual([12, 20]);
});

test('a sleep ends at its time, and earlier when its signal aborts', async () => {
  const time = machine({ rate: 1 });
  const stop = new AbortController();
  const woken: string[] = [];
  void time.sleep(10).then(() => woken.push(`first at ${time.now()}`));
  void time.sleep(1_000, stop.signal).then(() => woken.push(`second at ${time.now()}`));
  time.at(20, () => stop.abort());
  await time.run(30, signal);
  expect(woken).toEqual(['first at 10', 'second at 20']);
});

test.each([
  { turnMs: 1, lost: false },
  { turnMs: 50, lost: true },
])(
  'a machine that needs $turnMs ms for what happens every 10 ms falls behind: $lost',
  async ({ turnMs, lost }) => {
    const time = machine({ rate: 1, turnMs });
    const tick = (atMs: number): void => {
      time.at(atMs, () => tick(atMs + 10));
    };
    tick(10);
    await time.run(1_000, signal);
    expect(time.lostRealMs() > 0).toBe(lost);
  },
);

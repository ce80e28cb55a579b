import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLogger } from '../../../../packages/process/logger.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import {
  clockSteadySinceMs,
  openHistory,
  type Watch,
  watchedUntil,
} from '../../../../services/node/agent/history.ts';
import { HOUR, instant, MINUTE, NOW, SECOND } from '../../../fixtures/time.ts';
import { logLines } from '../../../support/log-lines.ts';
import { BOOT_A, BOOT_B, manualClock, nthBoot } from '../../../support/manual-clock.ts';
import { runs } from '../../../support/property-runs.ts';
import { memoryState } from '../executor/support/memory-state.ts';

const WATCH: Watch = {
  bootId: BOOT_A,
  sinceMs: HOUR,
  untilMs: 2 * HOUR,
  steadySince: instant({ sinceBootMs: HOUR }),
};

test.each<{ name: string; before: Watch | null; at: Partial<Instant>; sinceMs: number }>([
  {
    name: 'goes on after five minutes',
    before: WATCH,
    at: { sinceBootMs: 2 * HOUR + 5 * MINUTE },
    sinceMs: HOUR,
  },
  {
    name: 'begins anew after longer',
    before: WATCH,
    at: { sinceBootMs: 2 * HOUR + 5 * MINUTE + 1 },
    sinceMs: 2 * HOUR + 5 * MINUTE + 1,
  },
  {
    name: 'begins anew in another boot',
    before: WATCH,
    at: { bootId: BOOT_B, sinceBootMs: 2 * HOUR + 1 },
    sinceMs: 2 * HOUR + 1,
  },
  {
    name: 'begins anew when time runs backwards',
    before: WATCH,
    at: { sinceBootMs: 2 * HOUR - 1 },
    sinceMs: 2 * HOUR - 1,
  },
  { name: 'begins with the first detection', before: null, at: { sinceBootMs: HOUR }, sinceMs: HOUR },
])('[E2, M2] the watch $name', ({ before, at, sinceMs }) => {
  const { bootId, sinceBootMs } = instant(at);
  expect(watchedUntil(before, instant(at))).toMatchObject({ bootId, sinceMs, untilMs: sinceBootMs });
});

/** A node with one image, whose agents come and go. */
function watchedNode() {
  const clock = manualClock();
  const state = memoryState();
  const logger = createLogger({ service: 'node-agent', level: 'info' }, logLines());
  const open = () => openHistory({ state, now: clock.now(), removed: () => [], logger });
  let history = open();
  return {
    clock,
    detect: (isUsed: boolean) => {
      const { records, watchedSinceMs } = history.detect(
        [{ id: 'a', runtimeHandler: '' }],
        new Set(isUsed ? ['a'] : []),
        clock.now(),
      );
      history.save('end');
      const { firstDetectedMs = 0, lastUsedMs = null } = records.get('a') ?? {};
      const sinceMs = Math.max(firstDetectedMs, lastUsedMs ?? firstDetectedMs, watchedSinceMs);
      return {
        watchedForMs: clock.now().sinceBootMs - watchedSinceMs,
        unusedMs: clock.now().sinceBootMs - sinceMs,
        steadySinceMs: history.clockSteadySinceMs(clock.now()),
      };
    },
    restart: () => {
      history = open();
    },
  };
}

test.each([
  { name: 'short enough', downMs: 4 * MINUTE, watchedForMs: 4 * MINUTE + 10 * SECOND },
  { name: 'too long', downMs: 23 * HOUR, watchedForMs: 0 },
])('[E2, M2] over a pause of the agent that is $name', ({ downMs, watchedForMs }) => {
  const { clock, detect, restart } = watchedNode();
  detect(true);
  clock.advance(10 * SECOND);
  detect(false);
  clock.advance(downMs);
  restart();
  expect(detect(false)).toMatchObject({ watchedForMs });
});

test('[E2, M2] over a reboot, however short', () => {
  const { clock, detect, restart } = watchedNode();
  detect(true);
  clock.reboot(BOOT_B, MINUTE);
  clock.advance(SECOND);
  restart();
  expect(detect(false)).toMatchObject({ watchedForMs: 0, unusedMs: 0 });
});

test('[E2, M2] while no detection succeeds', () => {
  const { clock, detect } = watchedNode();
  detect(true);
  clock.advance(5 * MINUTE);
  expect(detect(false)).toMatchObject({ watchedForMs: 5 * MINUTE });
  clock.advance(6 * MINUTE);
  expect(detect(false)).toMatchObject({ watchedForMs: 0 });
});

const happening = fc.oneof(
  fc.record({ what: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 5 * MINUTE }) }),
  fc.record({ what: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 48 * HOUR }) }),
  fc.record({ what: fc.constant('use' as const), ms: fc.integer({ min: 1, max: 48 * HOUR }) }),
  fc.record({ what: fc.constant('step' as const), ms: fc.integer({ min: -48 * HOUR, max: 48 * HOUR }) }),
  fc.record({ what: fc.constant('reboot' as const), ms: fc.integer({ min: 0, max: 48 * HOUR }) }),
  fc.record({ what: fc.constantFrom('detect' as const, 'restart' as const), ms: fc.constant(0) }),
);

/** Used within the time, and no more at its end: where that is short, a detection sees it all the same (C7). */
test('[E2, E3, M2] whatever happens unseen, no image counts as unused for longer than it is', () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 30 }), (story) => {
      const { clock, detect, restart } = watchedNode();
      let unusedMs = 0;
      let boots = 0;
      let sinceDetectionMs = 0;
      let isSeen = true;
      const pass = (ms: number): void => {
        unusedMs += ms;
        sinceDetectionMs += ms;
      };
      const happenings = {
        pass: (ms: number) => {
          clock.advance(ms);
          pass(ms);
        },
        use: (ms: number) => {
          happenings.pass(ms);
          unusedMs = 0;
          isSeen = true;
        },
        step: (ms: number) => clock.stepWall(ms),
        restart,
        reboot: (ms: number) => {
          boots += 1;
          clock.reboot(nthBoot(boots), ms);
          pass(ms);
          restart();
        },
        detect: () => {
          const isUsed = isSeen && sinceDetectionMs <= 5 * MINUTE;
          if (isUsed) unusedMs = 0;
          expect(detect(isUsed).unusedMs).toBeLessThanOrEqual(unusedMs);
          sinceDetectionMs = 0;
          isSeen = false;
        },
      };
      happenings.detect();
      for (const { what, ms } of story) happenings[what](ms);
      happenings.detect();
    }),
    runs(1_000),
  );
});

describe('[M26, M27, M32] the wall clock', () => {
  const LATER = 2 * HOUR + MINUTE;
  const shows = (wallMs: number, over: Partial<Instant> = {}): Instant =>
    instant({ wallTimeMs: NOW + wallMs, sinceBootMs: LATER, ...over });

  test.each<{ name: string; at: Instant; isSteady: boolean }>([
    { name: 'runs on', at: shows(HOUR + MINUTE), isSteady: true },
    { name: 'is read a moment late', at: shows(HOUR + MINUTE + 2 * SECOND), isSteady: true },
    { name: 'was set ahead', at: shows(HOUR + MINUTE + 2 * SECOND + 1), isSteady: false },
    { name: 'was set back', at: shows(HOUR + MINUTE - 2 * SECOND - 1), isSteady: false },
    { name: 'was not watched', at: shows(2 * HOUR, { sinceBootMs: 3 * HOUR }), isSteady: false },
    { name: 'is that of another boot', at: shows(HOUR + MINUTE, { bootId: BOOT_B }), isSteady: false },
  ])('$name', ({ at, isSteady }) => {
    const watch = watchedUntil(WATCH, at);
    expect(watch.steadySince).toEqual(isSteady ? WATCH.steadySince : at);
    expect(clockSteadySinceMs(watch, at)).toBe(isSteady ? NOW : at.wallTimeMs);
  });

  test('that is set while the node is looked at vouches for nothing before', () => {
    const takenAt = shows(HOUR + MINUTE);
    for (const stepMs of [-HOUR, HOUR]) {
      const watch = watchedUntil(WATCH, shows(HOUR + MINUTE + stepMs));
      expect(clockSteadySinceMs(watch, takenAt)).toBe(takenAt.wallTimeMs);
    }
  });

  test('is remembered over a restart of the agent, and not over a reboot', () => {
    const { clock, detect, restart } = watchedNode();
    const startedMs = clock.now().wallTimeMs;
    detect(true);
    clock.advance(MINUTE);
    restart();
    expect(detect(false).steadySinceMs).toBe(startedMs);
    clock.stepWall(HOUR);
    clock.advance(MINUTE);
    const steppedMs = clock.now().wallTimeMs;
    expect(detect(false).steadySinceMs).toBe(steppedMs);
    clock.reboot(BOOT_B, MINUTE);
    restart();
    expect(detect(false).steadySinceMs).toBe(clock.now().wallTimeMs);
  });
});

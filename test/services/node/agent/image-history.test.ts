import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Instant } from '../../../../schemas/events/time.ts';
import { ImageHistoryFile } from '../../../../schemas/state/image-history.ts';
import {
  detect,
  type ImageHistory,
  recordsAt,
  reload,
  toFile,
  wallTimeOf,
} from '../../../../services/node/agent/history.ts';
import { BOOT_A, BOOT_B, manualClock, nthBoot } from '../../../support/manual-clock.ts';
import { runs } from '../../../support/property-runs.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

const AT: Instant = { wallTimeMs: Date.UTC(2026, 0, 1), bootId: BOOT_A, sinceBootMs: 10 * HOUR };
const WATCH = { bootId: BOOT_A, sinceMs: 0, untilMs: AT.sinceBootMs, steadySince: AT };
const later = (over: Partial<Instant>): Instant => ({ ...AT, ...over });

/** An image first detected 5 h and last used 1 h before `AT`. */
const history: ImageHistory = {
  at: AT,
  records: new Map([['a', { firstDetectedMs: 5 * HOUR, lastUsedMs: 9 * HOUR }]]),
};
const agesAt = (records: ReturnType<typeof recordsAt>, now: Instant) => {
  const record = records.get('a');
  return [
    record && now.sinceBootMs - record.firstDetectedMs,
    record && record.lastUsedMs !== null && now.sinceBootMs - record.lastUsedMs,
  ];
};

test.each<{ name: string; now: Instant; ages: [number, number] }>([
  {
    name: 'an hour later all is an hour older',
    now: later({ wallTimeMs: AT.wallTimeMs + HOUR, sinceBootMs: AT.sinceBootMs + HOUR }),
    ages: [6 * HOUR, 2 * HOUR],
  },
  {
    name: 'a wall clock an hour back changes no age',
    now: later({ wallTimeMs: AT.wallTimeMs - HOUR }),
    ages: [5 * HOUR, HOUR],
  },
  {
    name: 'a wall clock a day ahead changes no age',
    now: later({ wallTimeMs: AT.wallTimeMs + DAY }),
    ages: [5 * HOUR, HOUR],
  },
  {
    name: 'after a jump of more than a day ahead an image is just detected and just used',
    now: later({ wallTimeMs: AT.wallTimeMs + DAY + 1 }),
    ages: [0, 0],
  },
  {
    name: 'after a jump of more than a day back as well',
    now: later({ wallTimeMs: AT.wallTimeMs - DAY - 1 }),
    ages: [0, 0],
  },
  {
    name: 'after a day without any detection still believed',
    now: later({ wallTimeMs: AT.wallTimeMs + DAY, sinceBootMs: AT.sinceBootMs + DAY }),
    ages: [29 * HOUR, 25 * HOUR],
  },
  {
    name: 'after more than a day without any detection not believed',
    now: later({ wallTimeMs: AT.wallTimeMs + DAY + 1, sinceBootMs: AT.sinceBootMs + DAY + 1 }),
    ages: [0, 0],
  },
  {
    name: 'over a reboot ages go on where they stood; the time off is not counted',
    now: later({ bootId: BOOT_B, sinceBootMs: MINUTE, wallTimeMs: AT.wallTimeMs + HOUR }),
    ages: [5 * HOUR + MINUTE, HOUR + MINUTE],
  },
  {
    name: 'a wall clock an hour back at boot adds no age',
    now: later({ bootId: BOOT_B, sinceBootMs: MINUTE, wallTimeMs: AT.wallTimeMs - HOUR }),
    ages: [5 * HOUR, HOUR],
  },
  {
    name: 'a boot that the wall clock says was later adds no more than the wall clock',
    now: later({ bootId: BOOT_B, sinceBootMs: 3 * HOUR, wallTimeMs: AT.wallTimeMs + MINUTE }),
    ages: [5 * HOUR + MINUTE, HOUR + MINUTE],
  },
  {
    name: 'a wall clock 25 years ahead at boot makes every image just detected',
    now: later({ bootId: BOOT_B, sinceBootMs: MINUTE, wallTimeMs: AT.wallTimeMs + 25 * YEAR }),
    ages: [0, 0],
  },
  {
    name: 'a wall clock that starts in 1970 at boot makes every image just detected',
    now: later({ bootId: BOOT_B, sinceBootMs: MINUTE, wallTimeMs: MINUTE }),
    ages: [0, 0],
  },
  {
    name: 'a time since boot that runs backwards changes no age',
    now: later({ sinceBootMs: 7 * HOUR }),
    ages: [5 * HOUR, HOUR],
  },
])('$name', ({ now, ages }) => {
  expect(agesAt(recordsAt(history, now), now)).toEqual(ages);
});

test('a wall clock that jumps twice leaves images counted from the second jump on', () => {
  const ahead = later({ wallTimeMs: AT.wallTimeMs + 25 * YEAR, sinceBootMs: AT.sinceBootMs + 1 });
  const jumped: ImageHistory = { at: ahead, records: recordsAt(history, ahead) };
  const back = later({ wallTimeMs: AT.wallTimeMs + HOUR, sinceBootMs: AT.sinceBootMs + HOUR });
  const mended: ImageHistory = { at: back, records: recordsAt(jumped, back) };
  const end = later({ wallTimeMs: AT.wallTimeMs + 2 * HOUR, sinceBootMs: AT.sinceBootMs + 2 * HOUR });

  expect(agesAt(jumped.records, ahead)).toEqual([0, 0]);
  expect(agesAt(mended.records, back)).toEqual([0, 0]);
  expect(agesAt(recordsAt(mended, end), end)).toEqual([HOUR, HOUR]);
});

test('[M2] times in the future are clamped', () => {
  const future: ImageHistory = {
    at: AT,
    records: new Map([['a', { firstDetectedMs: AT.sinceBootMs + 1, lastUsedMs: AT.sinceBootMs + HOUR }]]),
  };
  expect(agesAt(recordsAt(future, AT), AT)).toEqual([0, 0]);
});

test('a jump does not turn "never used" into "used"', () => {
  const never: ImageHistory = {
    at: AT,
    records: new Map([['a', { firstDetectedMs: 5 * HOUR, lastUsedMs: null }]]),
  };
  const now = later({ wallTimeMs: AT.wallTimeMs + 2 * DAY });
  expect(recordsAt(never, now).get('a')).toEqual({ firstDetectedMs: now.sinceBootMs, lastUsedMs: null });
});

test('[M2] what is written is what is read', () => {
  const written: unknown = JSON.parse(JSON.stringify(toFile(history, WATCH)));
  expect(reload(ImageHistoryFile.parse(written), AT)).toEqual(history);
});

test('[M2] an image that was in use when the last agent looked counts as used until the next one starts', () => {
  const inUse: ImageHistory = {
    at: AT,
    records: new Map([
      ['used', { firstDetectedMs: HOUR, lastUsedMs: AT.sinceBootMs }],
      ['idle', { firstDetectedMs: HOUR, lastUsedMs: AT.sinceBootMs - 1 }],
    ]),
  };
  const now = later({ wallTimeMs: AT.wallTimeMs + MINUTE, sinceBootMs: AT.sinceBootMs + MINUTE });
  const { records } = reload(toFile(inUse, WATCH), now);

  expect(records.get('used')?.lastUsedMs).toBe(now.sinceBootMs);
  expect(records.get('idle')?.lastUsedMs).toBe(AT.sinceBootMs - 1);
});

test.each<[string, number, Instant, number]>([
  ['an hour ago', AT.sinceBootMs - HOUR, AT, AT.wallTimeMs - HOUR],
  ['in an earlier boot', -HOUR, AT, AT.wallTimeMs - 11 * HOUR],
  ['after the inventory began', AT.sinceBootMs + 1, AT, AT.wallTimeMs],
  ['longer ago than the wall clock has run', 0, later({ wallTimeMs: HOUR }), 0],
])('on the wall clock: %s', (_name, timeMs, takenAt, expected) => {
  expect(wallTimeOf(timeMs, takenAt)).toBe(expected);
});

/** A node with one image, that knows how old it really is. */
function nodeWithImage() {
  const clock = manualClock({ wallTimeMs: 40 * YEAR });
  let trueAgeMs = 0;
  let trueUnusedMs = 0;
  let boots = 0;
  let state: ImageHistory = { at: clock.now(), records: new Map() };
  const pass = (ms: number): void => {
    trueAgeMs += ms;
    trueUnusedMs += ms;
  };
  const restart = (): void => {
    state = reload(toFile(state, WATCH), clock.now());
  };
  const detectOnce = (inUse: boolean): void => {
    const now = clock.now();
    const images = [{ id: 'a', runtimeHandler: '' }];
    const used = new Set(inUse ? ['a'] : []);
    state = { at: now, records: detect(recordsAt(state, now), images, used, now.sinceBootMs) };
    if (inUse) trueUnusedMs = 0;
  };
  const happenings = {
    wait: (ms: number) => {
      pass(ms);
      clock.advance(ms);
    },
    step: (ms: number) => clock.stepWall(ms),
    restart,
    reboot: (downMs: number) => {
      pass(downMs);
      boots += 1;
      clock.reboot(nthBoot(boots), downMs);
      restart();
    },
    detectUsed: () => detectOnce(true),
    detectUnused: () => detectOnce(false),
  };
  return {
    happenings,
    trueAges: () => [trueAgeMs, trueUnusedMs] as const,
    ages: () => agesAt(recordsAt(state, clock.now()), clock.now()).map(Number),
  };
}

const happening = fc.oneof(
  fc.tuple(fc.constant('wait' as const), fc.integer({ min: 0, max: 3 * DAY })),
  fc.tuple(fc.constant('step' as const), fc.integer({ min: -30 * YEAR, max: 30 * YEAR })),
  fc.tuple(fc.constant('step' as const), fc.integer({ min: -DAY, max: DAY })),
  fc.tuple(fc.constant('reboot' as const), fc.integer({ min: 0, max: 3 * DAY })),
  fc.tuple(fc.constantFrom('detectUsed', 'detectUnused', 'restart'), fc.constant(0)),
);

test('[C3, C7, M1, M2] whatever clocks, agents and machines do, no image counts as older than it is', () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 40 }), (story) => {
      const node = nodeWithImage();
      node.happenings.detectUsed();
      for (const [what, ms] of story) {
        node.happenings[what](ms);
        const [trueAgeMs, trueUnusedMs] = node.trueAges();
        const [ageMs = -1, unusedMs = -1] = node.ages();
        expect(ageMs).toBeLessThanOrEqual(trueAgeMs);
        expect(unusedMs).toBeLessThanOrEqual(trueUnusedMs);
        expect(Math.min(ageMs, unusedMs)).toBeGreaterThanOrEqual(0);
      }
    }),
    runs(500),
  );
});

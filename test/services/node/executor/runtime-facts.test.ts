import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import { type FactsReading, isFresh, runtimeFacts } from '../../../../services/node/executor/facts.ts';
import { listedContainer, runtimeImage } from '../../../fixtures/listing.ts';
import { instant } from '../../../fixtures/time.ts';
import { BOOT_B, manualClock } from '../../../support/manual-clock.ts';
import { fakeRuntime } from './support/fake-runtime.ts';

/** A runtime that fails so often, and takes so long each time. */
async function reading({
  failures = 0,
  tookMs = 0,
  orphans = [],
  wantedByPods = () => [],
  history = () => null,
}: {
  readonly failures?: number;
  readonly tookMs?: number;
  /** Containers that run in no sandbox, which nobody believes. */
  readonly orphans?: readonly string[];
  readonly wantedByPods?: () => [];
  readonly history?: () => null;
}) {
  const clock = manualClock();
  const runtime = fakeRuntime();
  const image = runtimeImage('app');
  runtime.images.set(image.id, image);
  for (const id of orphans)
    runtime.containers.set(id, listedContainer(id, { state: 'running', sandboxId: 'gone' }));
  const seen: string[][] = [];
  const slept: number[] = [];
  let readings = 0;
  runtime.before = (call) => {
    if (call !== 'status') return;
    readings += 1;
    clock.advance(tookMs);
    if (readings <= failures) throw new FleetGcError('RUNTIME_REFUSED', `refused ${readings}`);
  };
  const read = runtimeFacts({
    runtime,
    clock,
    sleep: async (ms) => {
      slept.push(ms);
      clock.advance(ms);
    },
    wantedByPods,
    history: { read: history },
    onImages: (images) => seen.push(images.map(({ id }) => id)),
  });
  return { facts: await read(), readings, slept, seen, image, clock };
}

describe('the runtime is read', () => {
  test('once where it answers, and what it lists is passed on', async () => {
    const { facts, readings, slept, seen, image, clock } = await reading({});
    expect({ readings, slept, seen }).toEqual({ readings: 1, slept: [], seen: [[image.id]] });
    expect(facts).toMatchObject({
      ok: true,
      confirmedAt: clock.now(),
      facts: {
        listing: { status: 'complete', images: [{ id: image.id }] },
        history: { kind: 'known', file: null },
      },
    });
  });

  test.each([1, 2])('again where it failed %i time(s), after a moment each', async (failures) => {
    const { facts, readings, slept } = await reading({ failures });
    expect(facts.ok).toBe(true);
    expect({ readings, slept }).toEqual({ readings: failures + 1, slept: Array(failures).fill(200) });
  });

  test('three times at most: the last problem is told, and nothing is passed on', async () => {
    const { facts, readings, slept, seen } = await reading({ failures: 3 });
    expect(facts).toEqual({ ok: false, message: 'refused 3' });
    expect({ readings, slept, seen }).toEqual({ readings: 3, slept: [200, 200], seen: [] });
  });

  test('and all that is wrong with what it lists is told', async () => {
    const orphanOf = (id: string) =>
      `The runtime lists the running container ${id} but not its sandbox gone.`;
    expect((await reading({ orphans: ['a', 'b'] })).facts).toEqual({
      ok: false,
      message: `${orphanOf('a')}; ${orphanOf('b')}`,
    });
  });

  test('again where it failed for two seconds, and no more where it took longer', async () => {
    expect(await reading({ failures: 1, tookMs: 2_000 })).toMatchObject({ readings: 2, facts: { ok: true } });
    expect(await reading({ failures: 1, tookMs: 2_001 })).toMatchObject({
      readings: 1,
      slept: [],
      facts: { ok: false, message: 'refused 1' },
    });
  });
});

describe('what cannot be told beside the runtime', () => {
  const lost = (): never => {
    throw new FleetGcError('STATE_UNREADABLE', 'it is damaged');
  };

  test('of pods leaves no facts at all', async () => {
    expect(await reading({ wantedByPods: lost })).toMatchObject({
      facts: { ok: false, message: 'it is damaged' },
    });
  });

  test('of the history is told with the facts: no image goes by them', async () => {
    expect(await reading({ history: lost })).toMatchObject({
      readings: 1,
      facts: { ok: true, facts: { history: { kind: 'unreadable', message: 'it is damaged' } } },
    });
  });
});

describe('facts are fresh', () => {
  const confirmedAt = instant();
  const facts = { ok: true, confirmedAt } as Extract<FactsReading, { ok: true }>;
  const laterBy = (ms: number, over: Partial<Instant> = {}) =>
    instant({ sinceBootMs: confirmedAt.sinceBootMs + ms, ...over });

  test.each([
    { name: 'at once', now: laterBy(0), is: true },
    { name: 'for a second', now: laterBy(1_000), is: true },
    { name: 'no longer', now: laterBy(1_001), is: false },
    { name: 'never after a reboot', now: laterBy(0, { bootId: BOOT_B }), is: false },
    { name: 'whatever the wall clock says', now: laterBy(0, { wallTimeMs: 0 }), is: true },
  ])('$name: $is', ({ now, is }) => expect(isFresh(facts, now)).toBe(is));
});

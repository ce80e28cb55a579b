import { expect, test } from 'vitest';
import { watchStateSpace } from '../../../packages/machine/state-space.ts';
import type { Check } from '../../../packages/process/http.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { silentContext } from '../log/probe.ts';

const MEBIBYTE = 1024 * 1024;

/** A process whose state directory has so many MiB left at one check after the other. */
function watched(mebibytes: readonly (number | null)[]) {
  const stopping = new AbortController();
  const left = [...mebibytes];
  const told: string[] = [];
  const checks: Check[] = [];
  const metrics = createMetrics();
  const { logger } = silentContext();
  const waits: number[] = [];
  const loop = watchStateSpace(
    '/state',
    {
      metrics,
      logger: Object.assign(Object.create(logger), { warn: (text: string) => void told.push(text) }),
      addCheck: (check) => void checks.push(check),
      sources: {
        wait: async (ms) => {
          waits.push(ms);
          if (left.length > 1) left.shift();
          else stopping.abort();
        },
      },
    },
    () => {
      const now = left[0] ?? null;
      return now === null ? null : now * MEBIBYTE;
    },
  );
  return { run: () => loop(stopping.signal), told, checks, metrics, waits };
}

test('a state directory whose disk becomes nearly full is logged once, and again after it had more', async () => {
  const { run, told, waits } = watched([300, 255, 200, null, 300, 256, 100]);
  await run();
  expect(told).toEqual([
    expect.stringContaining('The disk of the state directory /state has 267 MB left. Free space on it'),
    expect.stringContaining('has 104 MB left'),
  ]);
  expect(new Set(waits)).toEqual(new Set([60_000]));
});

test('a metric reports the space, and readiness a notice that leaves the process ready', async () => {
  const low = watched([200]);
  expect(await low.metrics.text()).toContain('fleetgc_state_directory_available_bytes 209715200\n');
  expect(low.checks.map(({ name, problem, notice }) => [name, problem(), notice?.()])).toEqual([
    ['state directory', null, expect.stringContaining('has 209 MB left')],
  ]);
});

test('what cannot be measured is neither full nor empty', async () => {
  const { metrics, checks, run, told } = watched([null]);
  await run();
  expect(await metrics.text()).not.toMatch(/^fleetgc_state_directory_available_bytes/m);
  expect([checks[0]?.notice?.(), told]).toEqual([null, []]);
});

test('a real directory has some space', async () => {
  const metrics = createMetrics();
  watchStateSpace(temporaryDirectory(), {
    metrics,
    logger: silentContext().logger,
    addCheck: () => undefined,
    sources: { wait: async () => undefined },
  });
  expect(await metrics.text()).toMatch(/^fleetgc_state_directory_available_bytes [1-9]/m);
});

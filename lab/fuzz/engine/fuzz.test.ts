import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { installCounters } from '../branches/counters.ts';
import type { Json } from '../mutate/json.ts';
import { asObject, schemaOf } from '../mutate/schema.ts';
import { type Campaign, fuzz } from './fuzz.ts';
import { PASSED, REFUSED, type Read, type Target } from './target.ts';

const CAMPAIGN: Campaign = {
  seed: 3,
  runs: 6_000,
  forMs: Number.POSITIVE_INFINITY,
  corpus: [],
  stopAtFirst: false,
  onProgress: () => undefined,
};

const NAMES = ['a', 'b', 'c'] as const;

const target = (read: Read): Target => ({
  readers: ['a test'],
  schema: schemaOf(z.object({ a: z.int(), b: z.int(), c: z.int(), d: z.int(), e: z.int() })),
  seeds: () => [{ a: 0, b: 0, c: 0, d: 0, e: 0 }],
  open: () => read,
});

/** How many of its numbers are 100, from the first on. */
function depthOf(input: Json): number {
  const object = asObject(input);
  const wrong = NAMES.findIndex((name) => object[name] !== 100);
  return wrong < 0 ? NAMES.length : wrong;
}

test('what lies behind several conditions is reached from one branch to the next', async () => {
  const counters = installCounters();
  onTestFinished(() => {
    globalThis.fleetgcFuzz = undefined;
  });
  const read: Read = (input) => {
    const depth = depthOf(input);
    for (let branch = 0; branch < depth; branch += 1) {
      counters.hits[branch] = 1;
      counters.touched.push(branch);
    }
    if (depth === NAMES.length) throw new Error('all of them');
    return PASSED;
  };
  const { account, found } = await fuzz(target(read), CAMPAIGN);
  expect(found).toMatchObject([{ kind: 'crash' }]);
  expect(account.blocks).toBe(NAMES.length);
});

test('a crash is told with the place that it comes from', async () => {
  const { stackTraceLimit } = Error;
  const read: Read = () => {
    throw new Error('broken');
  };
  const { found } = await fuzz(target(read), { ...CAMPAIGN, runs: 5 });
  expect(found).toMatchObject([
    { kind: 'crash', what: expect.stringMatching(/^Error: broken\n.*fuzz\.test\.ts/s) },
  ]);
  expect(Error.stackTraceLimit).toBe(stackTraceLimit);
});

test('the same seed gives the same inputs, and another one others', async () => {
  const inputs = async (seed: number): Promise<string> => {
    const seen: Json[] = [];
    const read: Read = (input) => {
      seen.push(input);
      return PASSED;
    };
    await fuzz(target(read), { ...CAMPAIGN, seed, runs: 300 });
    return JSON.stringify(seen);
  };
  expect(await inputs(1)).toBe(await inputs(1));
  expect(await inputs(1)).not.toBe(await inputs(2));
});

test('where few inputs pass, they are changed with more care', async () => {
  const isWhole = z.strictObject({ a: z.int(), b: z.int(), c: z.int(), d: z.int(), e: z.int() });
  const read: Read = (input) => (isWhole.safeParse(input).success ? PASSED : REFUSED);
  const { account } = await fuzz(target(read), CAMPAIGN);
  expect(account.runs).toBe(CAMPAIGN.runs);
  expect(account.passed / account.runs).toBeGreaterThan(0.3);
});

test('an effect is told once, with the first input that has it, and counted each time', async () => {
  const read: Read = (input) => ({
    passed: true,
    effect: asObject(input).a === 0 ? null : `a is ${asObject(input).a}`,
  });
  const { account, found } = await fuzz(target(read), { ...CAMPAIGN, runs: 500 });
  expect(account.effects).toBeGreaterThan(found.length);
  expect(found[0]).toMatchObject({ kind: 'effect', what: expect.stringMatching(/^a is /) });
});

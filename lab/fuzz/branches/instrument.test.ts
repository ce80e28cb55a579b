import { stripTypeScriptTypes } from 'node:module';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { instrument } from './instrument.ts';

/** What the source evaluates to, and how many different branches it took. */
function run(source: string): { readonly value: unknown; readonly branches: number } {
  let branches = 0;
  const instrumented = instrument(source, () => branches++);
  const fleetgcFuzz = { hits: new Uint32Array(branches), touched: [] as number[] };
  const value: unknown = runInNewContext(stripTypeScriptTypes(instrumented), { fleetgcFuzz });
  return { value, branches: fleetgcFuzz.touched.length };
}

test.each([
  ['a block that is taken', 'let a = 0; if (1 > 0) { a = 1; } a', 1, 1],
  ['a block that is not', 'let a = 0; if (0 > 1) { a = 1; } a', 0, 0],
  ['a statement without brackets', 'let a = 0; if (0 > 1) a = 1; else if (1 > 0) a = 2; else a = 3; a', 2, 2],
  [
    'a condition in a condition',
    'const f = (n: number) => (n > 1 ? (n > 2 ? 3 : 2) : 1); f(3) * 10 + f(1)',
    31,
    4,
  ],
  ['what follows on nothing', 'const f = (n: number | null) => n ?? 7; f(null) + f(1)', 8, 2],
  ['an object that a function gives', 'const f = () => ({ a: 1 }); f().a', 1, 1],
  ['a case', 'let a = 0; switch (2 as number) { case 1: a = 1; break; case 2: a = 2; } a', 2, 1],
  ['loops', 'let a = 0; for (const n of [1, 2]) a += n; while (a < 5) a += 1; a', 5, 2],
  ['letters of other alphabets', 'const ä = "…"; const f = () => ä; f()', '…', 1],
])('%s is counted, and the source means the same', (_, source, value, branches) => {
  expect(run(source)).toEqual({ value, branches });
});

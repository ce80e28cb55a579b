import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const CHECKOUT = join(import.meta.dirname, '..');
const files = globSync('{bin,cli,packages,schemas,services,lab/demo,lab/sim}/**/*.ts', { cwd: CHECKOUT });
const asksForAny = (file: string): boolean =>
  readFileSync(join(CHECKOUT, file), 'utf8').includes('AbortSignal.any(');

test('signals are linked by what leaves nothing at those that live as long as the process', () => {
  expect(files.length).toBeGreaterThan(300);
  expect(files.filter(asksForAny)).toEqual([]);
});

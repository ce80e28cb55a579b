import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { replacedOnce } from '../../chaos/planted/plant.ts';
import { TARGETS } from '../targets/targets.ts';
import { PLANTED } from './planted.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');

test.each(PLANTED)('$name can still be planted, and is for a target', ({ edits, target }) => {
  expect([...TARGETS.keys()]).toContain(target);
  for (const { file, old, now } of edits) {
    const text = readFileSync(join(CHECKOUT, file), 'utf8');
    expect(replacedOnce(text, old, now, file)).not.toBe(text);
  }
});

import { expect, test } from 'vitest';
import { seededRandom } from '../../sim/random.ts';
import { Choices } from './choices.ts';
import { blownUp } from './text.ts';

test('what is long already is not blown up beyond what a text can be', () => {
  const choices = new Choices(seededRandom(1));
  const long = 'a'.repeat(200_000);
  for (let time = 0; time < 200; time += 1) expect(blownUp(long, choices)).toHaveLength(200_000);
});

import { expect, test } from 'vitest';
import { lineTeller } from '../../../cli/run/event-lines.ts';
import type { Decision } from '../../../schemas/events/decision.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { decision } from '../../fixtures/outputs.ts';
import { objectResult } from '../../fixtures/results.ts';
import { verdictsOf } from '../../fixtures/verdicts.ts';

function teller() {
  const lines: string[] = [];
  return { lines, ...lineTeller((line) => lines.push(line)) };
}
const by = (name: Decision['decider']['name']) => ({ decider: { name, version: '1' } });

test('the end of a pause is told once, and what was passed over does not end it', () => {
  const { lines, tell } = teller();
  tell(decision({ id: 'd1', ...by('pressure'), outcome: 'paused', reason: 'upgrade' }));
  tell(decision({ id: 'd2', ...by('image-gc'), outcome: 'paused', reason: 'upgrade' }));
  tell(decision({ id: 'd3', ...by('image-gc'), outcome: 'overtaken' }));
  tell(decision({ id: 'd4', ...by('pressure'), outcome: 'nothing-to-do' }));
  tell(decision({ id: 'd5', ...by('image-gc'), outcome: 'nothing-to-do' }));
  expect(lines).toEqual(['paused: upgrade', 'not paused any more']);
});

test('names are known from inventories of before: of what was decided on them, and of what is gone since', () => {
  const { lines, know, tell } = teller();
  know(inventory({ id: 'before', images: [image('image-1', { repoTags: ['registry.example/web:1'] })] }));
  know(inventory({ id: 'later', images: [] }));
  const verdicts = verdictsOf({
    image: [{ position: 0, action: 'remove' as const, rule: 'D11', facts: {} }],
  });
  tell(decision({ outcome: 'commanded', input: { ...decision().input, id: 'before' }, verdicts }));
  tell(objectResult());
  expect(lines).toEqual([
    'image-gc wants to remove 1 image (registry.example/web:1)',
    '- image registry.example/web:1 (10 B freed): unused, and least recently used',
  ]);
});

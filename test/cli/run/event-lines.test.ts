import { expect, test } from 'vitest';
import { linePrinter } from '../../../cli/run/lines.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { decision } from '../../fixtures/outputs.ts';
import { objectResult } from '../../fixtures/results.ts';
import { verdictsOf } from '../../fixtures/verdicts.ts';

function printer() {
  const lines: string[] = [];
  return { lines, ...linePrinter((line) => lines.push(line)) };
}

test('names are known from inventories of before: of what was decided on them, and of what is gone since', () => {
  const { lines, learnNames, printEvent } = printer();
  learnNames(
    inventory({ id: 'before', images: [image('image-1', { repoTags: ['registry.example/web:1'] })] }),
  );
  learnNames(inventory({ id: 'later', images: [] }));
  const verdicts = verdictsOf({
    image: [{ position: 0, action: 'remove' as const, rule: 'D11', facts: {} }],
  });
  printEvent(decision({ outcome: 'commanded', input: { ...decision().input, id: 'before' }, verdicts }));
  printEvent(objectResult());
  expect(lines).toEqual([
    'image-gc wants to remove 1 image (registry.example/web:1)',
    '- image registry.example/web:1 (10 B freed): unused, and least recently used',
  ]);
});

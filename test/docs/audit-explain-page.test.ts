import { expect, test } from 'vitest';
import { Explanation } from '../../schemas/reports/explanation.ts';
import { ExplainedKind, TimelineEntry } from '../../schemas/reports/timeline.ts';
import { textOf } from '../deploy/files.ts';
import { codeBlocks } from './markdown.ts';

const page = textOf('docs/operating/audit.md');

test('the page names every kind of entry, of thing and of answer', () => {
  const whats = TimelineEntry.options.map(({ shape }) => shape.what.value);
  const statuses = Explanation.options.map(({ shape }) => shape.status.value);

  expect(whats.length).toBeGreaterThan(0);
  for (const name of [...whats, ...statuses]) expect(page).toContain(`\`${name}\``);
  for (const kind of ExplainedKind.options) expect(page).toContain(`${kind}/`);
});

test('the words of the example are told', () => {
  const example = codeBlocks(page, 'text').find((block) => block.includes('audit explain')) ?? '';
  const words = [...example.matchAll(/^\S+Z {3}(\w+( go)?) /gm)].map(([, word]) => word);

  expect(words).toContain('removed');
  for (const word of words) expect(page).toContain(`\`${word}\``);
});

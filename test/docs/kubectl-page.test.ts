import { expect, test } from 'vitest';
import { loadAllVerbs } from '../../cli/verbs.ts';
import { textOf } from '../deploy/files.ts';
import { tableRows } from './markdown.ts';

/** Of a cell with a single name the backticks are gone. */
const namesIn = (cell: string): readonly string[] =>
  cell.includes('`') ? [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name) : [cell];

test('the page says of every verb in which formats it prints, and that no other has any', async () => {
  const told = tableRows(textOf('docs/operating/kubectl.md'), 'the answer').flatMap(
    ([, formats = '', verbs = '']) => namesIn(verbs).map((verb) => `${verb}: ${namesIn(formats)}`),
  );
  const real = (await loadAllVerbs()).flatMap(({ name, options }) => {
    const choices = options.find(({ key }) => key === 'output')?.choices;
    return choices === undefined ? [] : [`${name}: ${choices}`];
  });
  expect(told.toSorted()).toEqual(real.toSorted());
});

test('the help of every format option names all of them', async () => {
  for (const { name, options } of await loadAllVerbs())
    for (const { choices = [], description } of options.filter(({ key }) => key === 'output'))
      for (const format of choices) expect(`${name}: ${description}`).toMatch(new RegExp(`\\b${format}\\b`));
});

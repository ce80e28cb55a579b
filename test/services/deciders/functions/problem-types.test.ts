import { expect, test } from 'vitest';
import { DeadLetterCause } from '../../../../schemas/events/dead-letter.ts';
import {
  kindOfCause,
  PROBLEM_TYPES,
  STATUSES,
} from '../../../../services/deciders/functions/http/problem.ts';
import { textOf } from '../../../deploy/files.ts';
import { tableRows } from '../../../docs/markdown.ts';

test('the page has each type of problem as the table has it, and no other', () => {
  const told = tableRows(textOf('docs/operating/functions.md'), 'problem').map(([kind, ...rest]) => [
    kind,
    ...rest,
  ]);
  const known = Object.entries(PROBLEM_TYPES).map(([kind, { status, title, again }]) => [
    kind,
    String(status),
    again ? 'yes' : 'no',
    title,
  ]);
  expect(told).toEqual(known);
});

test('every status is that of an answer, and each that is none of those of events has a problem', () => {
  const statuses = new Set(Object.values(PROBLEM_TYPES).map(({ status }) => status));
  expect([...statuses].toSorted()).toEqual(STATUSES.filter((status) => status >= 400));
});

test('what comes again is what is not there at the moment', () => {
  for (const [kind, { status, again }] of Object.entries(PROBLEM_TYPES))
    expect({ kind, again }).toEqual({ kind, again: status === 503 });
});

test('each cause of a dead letter is a problem', () => {
  for (const cause of DeadLetterCause.options) expect(PROBLEM_TYPES).toHaveProperty(kindOfCause(cause));
});

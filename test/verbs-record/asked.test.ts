import { expect, test } from 'vitest';
import { ALL_VERBS } from '../../cli/verbs.ts';
import { ROUTES } from '../../services/dashboard/api/routes.ts';
import { ASKED_ROUTES } from './asked-routes.ts';
import { ASKED_VERBS } from './asked-verbs.ts';

test('every verb is asked that does not run as a service', () => {
  const tasks = ALL_VERBS.filter(({ kind }) => kind === 'task').map(({ name }) => name);
  expect(Object.keys(ASKED_VERBS).toSorted()).toEqual(tasks.toSorted());
});

test('every route of the dashboard is asked', () => {
  const asked = new Set(ASKED_ROUTES.map((route) => route.split('?')[0]));
  expect(ROUTES.map(({ path }) => path).filter((path) => !asked.has(path))).toEqual([]);
});

import { expect, test } from 'vitest';
import { warnUnlessSelected } from '../../../packages/read-model/policy-doubts.ts';

const SELECTOR = { clusters: [], nodeNames: ['n3'], pools: [], nodeLabels: {} };

test('a log that cannot be read says nothing of names, and fails nothing', async () => {
  const log = {
    read: () => {
      throw new Error('away');
    },
  };
  const told: unknown[] = [];
  const logger = { warn: (line: unknown) => told.push(line) };
  await warnUnlessSelected(SELECTOR, { log, logger }, new AbortController().signal);
  expect(told).toEqual([]);
});

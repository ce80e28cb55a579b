import { expect, test } from 'vitest';
import { plannedText } from '../../../packages/documents/report-tables.ts';
import type { WouldGo } from '../../../schemas/reports/audit-report.ts';

const MOST = 600_000;

test('a dry run of a fleet may plan for any number of objects', () => {
  const planned = Array.from(
    { length: MOST },
    (_, index): WouldGo => ({
      cluster: 'c',
      node: `n-${index}`,
      kind: 'image',
      id: 'sha256:1',
      name: 'app',
      rule: 'A1',
      policy: 'default',
      estimatedBytes: null,
      decisions: 1,
      firstMs: 0,
      lastMs: 60_000,
    }),
  );
  expect(plannedText(planned)).toMatch(/^, from 1970-01-01\S* to 1970-01-01/);
});

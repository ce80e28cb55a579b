import { expect, test } from 'vitest';
import { ClusterWarning } from '../../schemas/reports/cluster-status.ts';
import { textOf } from '../deploy/files.ts';
import { tableRows } from './markdown.ts';

test('the page has each warning of a cluster, and no other', () => {
  const page = textOf('docs/operating/watch.md').split('### Clusters')[1] ?? '';
  const told = tableRows(page, 'warning').map(([warning]) => warning);
  expect(told.toSorted()).toEqual([...ClusterWarning.shape.kind.options].toSorted());
});

import { describe, expect, test } from 'vitest';
import { createTally, nodesSummary, questionLines, summaryJson } from '../../../lab/demo/tally.ts';
import { frame, jsonView, liveView, plainView } from '../../../lab/demo/view.ts';
import { type FreedSpace, freedSpace } from '../../../packages/decision/freed-space.ts';
import type { Activity } from '../../../packages/documents/activity.ts';
import { sizeText } from '../../../packages/text/size-text.ts';

/** Something else filled the disk during the removal. */
const FILLED = { filesystem: 'imagefs', beforeBytes: '10', afterBytes: '5' } as const;
const GB = 1_000_000_000n;
const usage = (node: string, usedGb: bigint): Activity => ({
  kind: 'usage',
  node,
  usedBytes: usedGb * GB,
  capacityBytes: 20n * GB,
});
const removedAs = (node: string, freed: FreedSpace): Activity => ({
  kind: 'removed',
  node,
  object: 'image',
  name: 'shop/checkout:1',
  why: 'unused',
  freed,
});
const removed = (node: string, freedBytes: bigint): Activity =>
  removedAs(node, { how: 'measured', bytes: freedBytes, filesystem: 'imagefs' });

test.each([
  { bytes: 0n, text: '0 B' },
  { bytes: 999n, text: '999 B' },
  { bytes: 1_000n, text: '1.0 kB' },
  { bytes: 1_999n, text: '1.9 kB' },
  { bytes: 12_345_678n, text: '12 MB' },
  { bytes: 2n ** 64n, text: '18 EB' },
])('$bytes bytes are told as $text', ({ bytes, text }) => {
  expect(sizeText(bytes)).toBe(text);
});

test('the live view shows a bar with both thresholds, and what happened last', () => {
  const { tally, count } = createTally();
  count(usage('node-1', 17n));
  const [line, recent] = frame(tally, new Map([['node-1', ['- image a']]]), {
    highPercent: 80,
    lowPercent: 60,
  });
  expect(line).toContain(' 85 %');
  expect(line).toContain('┃');
  expect(line).toContain('┊');
  expect(line).toContain('17 GB of 20 GB');
  expect(recent).toBe('    - image a');
});

test('the live view draws over itself: as many lines up as it drew', () => {
  const printed: string[] = [];
  const view = liveView((text) => printed.push(text), { highPercent: 80, lowPercent: 60 }, 80);
  view.show(usage('node-1', 10n));
  view.refresh();
  view.refresh();
  const lines = printed[0]?.split('\n').length;
  expect(printed[0]).not.toContain('A\u001b[2K');
  expect(printed[1]?.startsWith(`\u001b[${lines}A`)).toBe(true);
});

test('the plain view has one line for each thing that happens, and none for what only moves a bar', () => {
  const printed: string[] = [];
  const view = plainView((line) => printed.push(line));
  view.show(usage('node-1', 10n));
  view.show(removed('node-1', 3n * GB));
  expect(printed).toEqual(['node-1  - image shop/checkout:1 (3.0 GB freed): unused']);
});

test('what could not be measured is told as an estimate, and never as less than nothing', () => {
  const printed: string[] = [];
  const view = plainView((line) => printed.push(line));
  view.show(removedAs('node-1', freedSpace(FILLED, 2_000_000)));
  view.show(removedAs('node-1', freedSpace(null, null)));
  expect(printed).toEqual([
    'node-1  - image shop/checkout:1 (about 2.0 MB by estimate, not measurable): unused',
    'node-1  - image shop/checkout:1: unused',
  ]);
});

test('the summary keeps what was measured and what was estimated apart', () => {
  const { tally, count } = createTally();
  count(removed('node-1', 4n * GB));
  count(removedAs('node-1', freedSpace(FILLED, 2_000_000)));
  const needs = { tally, logPath: '/tmp/log.db', questions: [] };
  expect(nodesSummary(needs.tally).join('\n')).toContain(
    'Freed in all, as the disks tell: 4.0 GB, and about 2.0 MB that could not be measured.',
  );
  expect(summaryJson(needs)).toMatchObject({
    freedBytes: '4000000000',
    unmeasured: 1,
    estimatedBytes: '2000000',
  });
});

test('the JSON view keeps byte counts exact', () => {
  const printed: string[] = [];
  jsonView((line) => printed.push(line)).show(removed('node-1', 2n ** 60n));
  expect(JSON.parse(printed[0] ?? '')).toMatchObject({
    kind: 'removed',
    freed: { bytes: '1152921504606846976' },
  });
});

describe('the summary', () => {
  const { tally, count } = createTally();
  const activities: Activity[] = [
    usage('node-1', 18n),
    usage('node-1', 12n),
    removed('node-1', 4n * GB),
    removed('node-2', 2n * GB),
    {
      kind: 'stayed',
      node: 'node-2',
      object: 'image',
      name: 'x',
      why: 'a container uses it',
      reason: 'in-use',
    },
    { kind: 'gone-already', node: 'node-2', object: 'container', name: 'shop/web/app#0' },
    { kind: 'kept', node: 'node-1', object: 'image', byReason: new Map([['too young', 3]]) },
    { kind: 'kept', node: 'node-1', object: 'image', byReason: new Map([['too young', 2]]) },
    { kind: 'kept', node: 'node-2', object: 'image', byReason: new Map([['too young', 5]]) },
    { kind: 'kept', node: 'node-1', object: 'container', byReason: new Map([['running', 4]]) },
    { kind: 'kept', node: 'node-1', object: 'sandbox', byReason: new Map([['in use', 1]]) },
    { kind: 'kept', node: 'node-2', object: 'pod-log-directory', byReason: new Map([['pod is there', 1]]) },
  ];
  activities.forEach(count);
  const questions = questionLines({ logPath: '/tmp/log.db', questions: ['fleetgc policy list'] });
  const text = [...nodesSummary(tally), ...questions].join('\n');

  test.each([
    'Freed in all, as the disks tell: 6.0 GB.',
    'node-1: 60 % used now, 90 % at the most; freed 4.0 GB',
    'Removed: 2',
    '2  image: unused',
    'Named by a command, but not removed: 2',
    '1  image: in-use',
    '1  container: was gone already',
    'Kept by the last decisions about each node: 13',
    '7  image: too young',
    '4  container: running',
    '1  sandbox: in use',
    '1  pod log directory: pod is there',
    '/tmp/log.db',
    'fleetgc policy list',
  ])('says %j', (part) => {
    expect(text).toContain(part);
  });
});

import { expect, test } from 'vitest';
import type { NotOurs } from '../../../packages/audit/verify/findings.ts';
import { notOursLines } from '../../../packages/documents/verification.ts';
import { MINUTE, NOW } from '../../fixtures/time.ts';

const place = (minute: number) => ({
  topic: 'gc.node.inventory',
  partition: 3,
  offset: String(minute),
  timestampMs: NOW + minute * MINUTE,
});

const gone = (id: string, minute: number, over: Partial<NotOurs> = {}): NotOurs => ({
  kind: 'image',
  id,
  node: 'prod/web-1',
  places: [place(minute - 1), place(minute)],
  ...over,
});

const listOf = (first: readonly NotOurs[], total = first.length) => ({ total, byKind: {}, first });

test('what is gone without us is folded by node and kind, the most first', () => {
  const found = [
    gone('a', 1, { kind: 'sandbox' }),
    gone('b', 7),
    gone('c', 5),
    gone('d', 6, { node: 'prod/web-2' }),
  ];
  expect(notOursLines(listOf(found))).toEqual([
    'prod/web-1  image: 2, gone by 2026-01-01T00:05:00Z to 2026-01-01T00:07:00Z',
    'prod/web-1  sandbox a  gone by 2026-01-01T00:01:00Z, last seen 2026-01-01T00:00:00Z (gc.node.inventory/3@0)',
    'prod/web-2  image d  gone by 2026-01-01T00:06:00Z, last seen 2026-01-01T00:05:00Z (gc.node.inventory/3@5)',
    '-o json names them, up to 1,000 of each kind',
  ]);
});

test('what is not told line by line is counted, and where all is told nothing is said of more', () => {
  const nodes = Array.from({ length: 21 }, (_, index) => gone('a', 1, { node: `prod/n-${index}` }));
  expect(notOursLines(listOf(nodes, 25)).slice(20)).toEqual([
    '… and 5 more',
    '-o json names them, up to 1,000 of each kind',
  ]);
  expect(notOursLines(listOf(nodes.slice(0, 20)))).toHaveLength(20);
});

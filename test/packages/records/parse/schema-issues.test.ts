import { expect, test } from 'vitest';
import { z } from 'zod';
import { firstWrong } from '../../../../packages/records/parse/parse-record.ts';
import { Inventory } from '../../../../schemas/events/inventory.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';

const Tagged = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('list'), all: z.array(z.string()).nullable() }),
  z.strictObject({ kind: z.enum(['map', 'table']), all: z.record(z.string(), z.array(z.int())) }),
]);

test.each<{ name: string; schema: z.ZodType; value: unknown; path: PropertyKey[] | null }>([
  { name: 'a list', schema: z.array(z.int()), value: [1, 'x', 'y'], path: [1] },
  { name: 'what is no list', schema: z.array(z.int()), value: 'x', path: null },
  { name: 'a list in a list', schema: z.array(z.array(z.int())), value: [[], [1, 'x']], path: [1, 1] },
  { name: 'a map', schema: z.record(z.string(), z.int()), value: { a: 1, b: 'x' }, path: ['b'] },
  { name: 'a variant', schema: Tagged, value: { kind: 'list', all: ['a', 1] }, path: ['all', 1] },
  { name: 'another', schema: Tagged, value: { kind: 'table', all: { a: [1, 'x'] } }, path: ['all', 'a', 1] },
  { name: 'a variant without its list', schema: Tagged, value: { kind: 'list', all: null }, path: null },
  { name: 'a variant that there is not', schema: Tagged, value: { kind: 'other', all: [1] }, path: null },
  {
    name: 'what may be left out',
    schema: z.object({ a: z.array(z.int()).optional(), b: z.array(z.int()).default([]) }),
    value: { b: ['x'] },
    path: ['b', 0],
  },
  { name: 'fields that are no lists', schema: z.object({ a: z.int() }), value: { a: 'x' }, path: null },
])('the first wrong element of $name', ({ schema, value, path }) => {
  expect(firstWrong(schema, value)?.issues[0]?.path ?? null).toEqual(path);
});

test('all that is wrong with that element is told, and nothing of the next', () => {
  const images = [image('a'), {}, {}];
  const issues = firstWrong(Inventory, { ...inventory(), images })?.issues ?? [];
  expect(issues.length).toBeGreaterThan(1);
  expect(new Set(issues.map(({ path }) => path.slice(0, 2).join('.')))).toEqual(new Set(['images.1']));
});

test('nothing is wrong with what the schema takes', () => {
  expect(firstWrong(Inventory, inventory({ images: [image('a'), image('b')] }))).toBeNull();
});

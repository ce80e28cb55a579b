import { expect, test } from 'vitest';
import { strayClusters } from '../../../packages/fleet-watch/stray-clusters.ts';

const strays = (nodes: Readonly<Record<string, number>>, named: readonly string[] = []) =>
  strayClusters(new Map(Object.entries(nodes)), new Set(named)).map(
    ({ cluster, like }) => `${cluster} like ${like}`,
  );

test.each([
  { name: 'a letter too few', nodes: { prod: 40, prd: 1 }, told: ['prd like prod'] },
  { name: 'another letter', nodes: { prod: 40, prog: 2 }, told: ['prog like prod'] },
  {
    name: 'letters that changed places',
    nodes: { production: 3, prodcution: 1 },
    told: ['prodcution like production'],
  },
  { name: 'another case', nodes: { prod: 40, PROD: 1 }, told: ['PROD like prod'] },
  { name: 'numbers are meant', nodes: { 'prod-1': 40, 'prod-2': 1 }, told: [] },
  { name: 'another word', nodes: { prod: 40, test: 1 }, told: [] },
  { name: 'two slips', nodes: { 'eu-west': 40, 'us-west': 1 }, told: ['us-west like eu-west'].slice(1) },
  { name: 'many nodes are meant', nodes: { prod: 40, prog: 3 }, told: [] },
  { name: 'few are like it', nodes: { prod: 2, prog: 1 }, told: [] },
  { name: 'names of two letters', nodes: { eu: 40, us: 1 }, told: [] },
])('$name: $told', ({ nodes, told }) => {
  expect(strays(nodes)).toEqual(told);
});

test('a cluster that a policy names is meant', () => {
  expect(strays({ prod: 40, prog: 1 }, ['prog'])).toEqual([]);
});

test('names that are made up by the ten thousand end nothing, and the largest clusters are still compared', () => {
  const names = (prefix: string, nodes: number) =>
    Array.from({ length: 20_000 }, (_, index) => [`${prefix}-${index.toString(36)}-cluster`, nodes] as const);
  const nodes = new Map([
    ['prog', 1] as const,
    ...names('large', 3),
    ...names('small', 1),
    ['prod', 40] as const,
  ]);
  expect(strayClusters(nodes, new Set()).map(({ cluster, like }) => [cluster, like])).toContainEqual([
    'prog',
    'prod',
  ]);
});

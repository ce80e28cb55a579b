import { describe, expect, test } from 'vitest';
import { countedAs, keptBecause, removedBecause } from '../../../packages/decision/rule-text.ts';
import type { Verdict } from '../../../schemas/events/decision.ts';

const kept = (rule: string, facts: Verdict['facts'] = {}): string =>
  keptBecause({ rule, facts }, 'nothing-to-do');

describe('why an object goes', () => {
  test('is told in words', () => {
    expect(removedBecause('D11')).toBe('unused, and least recently used');
  });

  test.each(['Z9', 'toString', ''])('by rule %j, which this release does not know: by its name', (rule) => {
    expect(removedBecause(rule)).toBe(`rule ${rule}`);
  });
});

describe('why an object stays', () => {
  test.each([
    ['D7', 'pinned by the runtime'],
    ['P6', 'no room had to be made'],
    ['Z9', 'rule Z9'],
    ['toString', 'rule toString'],
  ])('by rule %s', (rule, words) => {
    expect(kept(rule)).toBe(words);
    expect(kept(rule, { keptBy: 'a pattern' })).toBe(words);
  });

  test('[P6] images wait for containers; nothing else does', () => {
    expect(keptBecause({ rule: 'P6', facts: {} }, 'waits-for-containers')).toBe('containers go first');
    expect(keptBecause({ rule: 'D7', facts: {} }, 'waits-for-containers')).toBe('pinned by the runtime');
    expect(keptBecause({ rule: 'M11', facts: { keptBy: 'x' } }, 'waits-for-containers')).toBe('kept by x');
  });

  test.each<{ facts: Verdict['facts']; words: string }>([
    { facts: {}, words: 'kept by the policy' },
    { facts: { other: 'fact' }, words: 'kept by the policy' },
    { facts: { keptBy: 'pattern base/*' }, words: 'kept by pattern base/*' },
    { facts: { keptNamespace: 'infra' }, words: 'in the kept namespace infra' },
    { facts: { keptNamespace: 'unknown' }, words: 'used by a pod whose namespace is not known' },
    { facts: { namespace: 'infra' }, words: 'in the kept namespace infra' },
    { facts: { namespace: null }, words: 'its namespace is not known' },
    { facts: { namespace: '' }, words: 'its namespace is not known' },
    { facts: { keptVersionOf: 'docker.io/app' }, words: 'one of the last versions of docker.io/app' },
    { facts: { unpullable: 'no digest' }, words: 'cannot be pulled again: no digest' },
  ])('[M11] by the keep list: $words', ({ facts, words }) => {
    expect(kept('M11', facts)).toBe(words);
  });
});

test('reasons are counted without the repository, of which a node has many', () => {
  expect(countedAs('pinned', { facts: {} })).toBe('pinned');
  expect(countedAs('one of the last versions of a', { facts: { keptVersionOf: 'a' } })).toBe(
    'one of the last versions of a repository',
  );
});

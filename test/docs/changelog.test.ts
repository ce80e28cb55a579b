import { expect, test } from 'vitest';
import { ALL_VERBS, VERB_FAMILIES } from '../../cli/verbs.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { textOf } from '../deploy/files.ts';

const changelog = textOf('CHANGELOG.md');
const releases = [...changelog.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => heading);

test('the newest release of the changelog is the one of package.json, with its day or that it has none', () => {
  const [newest = ''] = releases;

  expect(newest.split(' ')[0]).toBe(packageJson.version);
  for (const heading of releases)
    expect(heading).toMatch(/^\d+\.\d+\.\d+ \((not released yet|\d{4}-\d{2}-\d{2})\)$/);
});

test('each release stands there once, the newest first', () => {
  const versions = releases.map((heading) => (heading.split(' ')[0] ?? '').split('.').map(Number));
  const sorted = versions.toSorted(([a = 0, b = 0, c = 0], [d = 0, e = 0, f = 0]) => d - a || e - b || f - c);

  expect(versions).toEqual(sorted);
  expect(new Set(releases).size).toBe(releases.length);
});

test('it names each verb, or the family of it', () => {
  const words = new Set(ALL_VERBS.map(({ name }) => name.split(' ')[0] ?? ''));
  const unnamed = [...words].filter((word) => !new RegExp(`\`(fleetgc )?${word}\\b`).test(changelog));

  expect(Object.keys(VERB_FAMILIES).length).toBeGreaterThan(3);
  expect(unnamed).toEqual([]);
});

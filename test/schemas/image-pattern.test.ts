import { describe, expect, test } from 'vitest';
import { type KeepRules, keepMatcher, type NamedImage } from '../../schemas/image-pattern.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;

const rules = (overrides: Partial<KeepRules>): KeepRules => ({
  patterns: [],
  digests: [],
  labels: {},
  ...overrides,
});
const image = (overrides: Partial<NamedImage>): NamedImage => ({
  id: `sha256:${'1'.repeat(64)}`,
  repoTags: [],
  repoDigests: [],
  labels: {},
  ...overrides,
});

describe('[M11] an image is kept', () => {
  test.each<{ name: string; rules: Partial<KeepRules>; image: Partial<NamedImage> }>([
    {
      name: 'by its tag',
      rules: { patterns: ['registry.example/app:1'] },
      image: { repoTags: ['registry.example/app:1'] },
    },
    {
      name: 'by its repository',
      rules: { patterns: ['registry.example/app'] },
      image: { repoTags: ['registry.example/app:1'] },
    },
    {
      name: 'by its repository behind a port',
      rules: { patterns: ['registry:5000/app'] },
      image: { repoTags: ['registry:5000/app:1'] },
    },
    {
      name: 'by a glob over one level',
      rules: { patterns: ['registry.example/*'] },
      image: { repoTags: ['registry.example/app:1'] },
    },
    {
      name: 'by a glob over all levels',
      rules: { patterns: ['registry.example/**'] },
      image: { repoTags: ['registry.example/a/b:1'] },
    },
    {
      name: 'when any one of its names matches',
      rules: { patterns: ['*/keep:*'] },
      image: { repoTags: ['x/drop:1', 'x/keep:1'] },
    },
    {
      name: 'by the repository of a digest name',
      rules: { patterns: ['x/app'] },
      image: { repoDigests: [`x/app@${DIGEST}`] },
    },
    { name: 'by its repo digest', rules: { digests: [DIGEST] }, image: { repoDigests: [`x/app@${DIGEST}`] } },
    { name: 'by its id', rules: { digests: [DIGEST] }, image: { id: DIGEST } },
    {
      name: 'by the short name of an official image',
      rules: { patterns: ['nginx:*'] },
      image: { repoTags: ['docker.io/library/nginx:1'] },
    },
    {
      name: 'by a name without the default registry',
      rules: { patterns: ['team/*'] },
      image: { repoTags: ['docker.io/team/app:1'] },
    },
    { name: 'by a label', rules: { labels: { keep: 'yes' } }, image: { labels: { keep: 'yes' } } },
    { name: 'by a label that nobody knows', rules: { labels: { keep: 'yes' } }, image: { labels: null } },
  ])('$name', ({ rules: given, image: subject }) => {
    expect(keepMatcher(rules(given))(image(subject))).toBeDefined();
  });

  test.each<{ name: string; rules: Partial<KeepRules>; image: Partial<NamedImage> }>([
    { name: 'without rules', rules: {}, image: { repoTags: ['x/app:1'] } },
    {
      name: 'by a glob that would have to cross a slash',
      rules: { patterns: ['registry.example/*'] },
      image: { repoTags: ['registry.example/a/b:1'] },
    },
    { name: 'by a part of a name', rules: { patterns: ['app'] }, image: { repoTags: ['x/app:1'] } },
    {
      name: 'by a label of another value',
      rules: { labels: { keep: 'yes' } },
      image: { labels: { keep: 'no' } },
    },
  ])('but not $name', ({ rules: given, image: subject }) => {
    expect(keepMatcher(rules(given))(image(subject))).toBeUndefined();
  });
});

test('the answer names the rule that kept the image, labels as key=value', () => {
  const matches = keepMatcher(rules({ patterns: ['x/*'], labels: { keep: 'yes' } }));
  expect(matches(image({ repoTags: ['x/app:1'] }))).toBe('x/*');
  expect(matches(image({ labels: { keep: 'yes' } }))).toBe('keep=yes');
});

import { describe, expect, test } from 'vitest';
import {
  type KeepRules,
  keepMatcher,
  type NamedImage,
  tagsByRepository,
  unpullableBecause,
} from '../../schemas/policy/image-pattern.ts';

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
      name: 'by its id, which has no algorithm',
      rules: { digests: [DIGEST] },
      image: { id: 'a'.repeat(64) },
    },
    {
      name: 'by an id that is written without one',
      rules: { digests: ['a'.repeat(64)] },
      image: { id: DIGEST },
    },
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
    expect(keepMatcher(rules(given)).keptBy(image(subject))).toBeDefined();
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
    expect(keepMatcher(rules(given)).keptBy(image(subject))).toBeUndefined();
  });
});

test('the answer names the rule that kept the image, labels as key=value', () => {
  const matches = keepMatcher(rules({ patterns: ['x/*'], labels: { keep: 'yes' } })).keptBy;
  expect(matches(image({ repoTags: ['x/app:1'] }))).toBe('x/*');
  expect(matches(image({ labels: { keep: 'yes' } }))).toBe('keep=yes');
});

test('[M11] rules that keep none of the images are told as written, in their order', () => {
  const given = rules({
    patterns: ['x/*', 'y/*'],
    digests: [DIGEST, `sha256:${'b'.repeat(64)}`],
    labels: { keep: 'yes', other: 'no' },
  });
  const images = [
    image({ repoTags: ['x/app:1'], repoDigests: [`x/app@${DIGEST}`] }),
    image({ labels: { keep: 'yes' } }),
  ];
  expect(keepMatcher(given).withoutMatch(images)).toEqual(['y/*', `sha256:${'b'.repeat(64)}`, 'other=no']);
  expect(keepMatcher(given).withoutMatch([])).toHaveLength(6);
  expect(keepMatcher(rules({ labels: { any: 'x' } })).withoutMatch([image({ labels: null })])).toEqual([]);
});

test.each([
  { name: 'x.example/app', why: undefined },
  { name: 'registry:5000/team/app', why: undefined },
  { name: 'localhost:5000/app', why: undefined },
  { name: 'localhost/app', why: 'its name has no registry' },
  { name: 'team/app.with.dots', why: 'its name has no registry' },
  { name: 'app', why: 'its name has no registry' },
])('[M11] whether an image of the name $name can be pulled again: $why', ({ name, why }) => {
  expect(unpullableBecause({ repoDigests: [`${name}@${DIGEST}`] })).toBe(why);
});

test.each([`<none>@${DIGEST}`, '<none>@<none>', '<none>'])(
  '[M11] %s is told as a placeholder, and not as a name without a registry',
  (name) => {
    const placeholder = 'its repository digest is a placeholder of the runtime';
    expect(unpullableBecause({ repoDigests: [name] })).toBe(placeholder);
  },
);

test('[M11] what has no digest cannot be pulled again', () => {
  expect(unpullableBecause({ repoDigests: [] })).toBe('it has no repository digest');
});

test('tags by repository: ports are no tags, and a digest alone gives a repository without any', () => {
  const tags = tagsByRepository(
    image({ repoTags: ['r:5000/app:1', 'r:5000/app:2', 'x/b:1'], repoDigests: [`x/c@${DIGEST}`] }),
  );
  expect([...tags]).toEqual([
    ['x/c', []],
    ['r:5000/app', ['1', '2']],
    ['x/b', ['1']],
  ]);
});

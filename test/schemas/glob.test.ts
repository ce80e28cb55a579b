import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GlobList, ImageGlobs, MAX_GLOB_LENGTH, MAX_GLOB_WILDCARDS } from '../../schemas/policy/glob.ts';
import { MAX_DECISION_STEPS, Steps } from '../../schemas/policy/steps.ts';
import { matchElsewhere } from './support/match-elsewhere.ts';

const matcherOf = (pattern: string) => (name: string) =>
  GlobList.of([pattern]).matches(name, new Steps(MAX_DECISION_STEPS));

describe('a pattern matches whole names:', () => {
  test.each([
    { pattern: 'r.example/app:1', yes: ['r.example/app:1'], no: ['r.example/app:11', 'r_example/app:1'] },
    { pattern: 'r/*', yes: ['r/a', 'r/.a', 'r/a:1'], no: ['r', 'r/a/b', 'x/r/a'] },
    { pattern: 'r/a*z', yes: ['r/az', 'r/a-z'], no: ['r/a/z', 'r/az1'] },
    { pattern: 'r/a?', yes: ['r/ab', 'r/a?'], no: ['r/a', 'r/a/', 'r/abc'] },
    { pattern: 'r/**', yes: ['r', 'r/a', 'r/a/b'], no: ['ra', 'r:1', 'x/r/a'] },
    { pattern: 'r/**/**', yes: ['r', 'r/a', 'r/a/b'], no: ['ra'] },
    { pattern: '**/a', yes: ['a', 'r/a', 'r/x/a'], no: ['ra', 'r/a/b', 'r/ba'] },
    { pattern: 'r/**/a', yes: ['r/a', 'r/x/a', 'r/x/y/a'], no: ['ra', 'r/xa', 'r/a/x'] },
    { pattern: '**', yes: ['a', 'r/a', ''], no: [] },
    { pattern: 'r/a**z', yes: ['r/az', 'r/a/b/z'], no: ['r/a'] },
    { pattern: '*/*-?', yes: ['a/b-c', 'a/-c'], no: ['a/b-', 'a/b/b-c', 'b-c'] },
    { pattern: 'a*a', yes: ['aa', 'aba'], no: ['a'] },
    { pattern: '*a*b', yes: ['ab', 'xaxbxb'], no: ['xaxbx', 'a/b'] },
    { pattern: '(', yes: ['('], no: [] },
  ])('$pattern', ({ pattern, yes, no }) => {
    const matches = matcherOf(pattern);
    expect([yes.filter(matches), no.filter(matches)]).toEqual([yes, []]);
  });
});

/** The same as a regular expression, which goes back and forth. */
const byExpression = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .split(/(?<=^|\/)(\*\*\/)|((?:\/\*\*)+$)|(\*+)|(\?)/)
      .map(
        (part) =>
          EXPRESSIONS[part ?? ''] ?? (part?.startsWith('/**') ? '(?:/.*)?' : part?.replaceAll('.', '\\.')),
      )
      .join('')}$`,
  );
const EXPRESSIONS: Readonly<Record<string, string>> = {
  '**/': '(?:.*/)?',
  '**': '.*',
  '***': '.*',
  '*': '[^/]*',
  '?': '[^/]',
};

test('a pattern matches what the same regular expression does', () => {
  const pattern = fc
    .stringMatching(/^(?:[ab]|\.|\/|\*|\*\*|\*\*\/|\?){1,8}$/)
    .filter((text) => !text.includes('****'));
  const name = fc.stringMatching(/^[ab./]{0,8}$/);
  fc.assert(
    fc.property(pattern, fc.array(name, { minLength: 10, maxLength: 10 }), (written, names) => {
      const matches = matcherOf(written);
      expect(names.filter(matches)).toEqual(names.filter((text) => byExpression(written).test(text)));
    }),
  );
});

describe('no name makes a pattern slow:', () => {
  const many = '*-'.repeat(MAX_GLOB_WILDCARDS);
  test.each([
    { pattern: 'registry.example/team/*-*-*-*-prod', name: `registry.example/team/${'-'.repeat(208)}-pro` },
    { pattern: `registry.example/${many}prod`, name: `registry.example/${'-'.repeat(100_000)}prod/prod` },
    { pattern: `${'**/a'.repeat(MAX_GLOB_WILDCARDS)}`, name: `${'a/'.repeat(100_000)}ba` },
    { pattern: `${'*a**'.repeat(MAX_GLOB_WILDCARDS / 2)}`, name: `${'b'.repeat(100_000)}a/b` },
  ])('$pattern', async ({ pattern, name }) => {
    expect(ImageGlobs.safeParse([pattern]).success).toBe(true);
    expect(await matchElsewhere(pattern, name)).toBeTypeOf('boolean');
  });
});

test('a pattern has bounds: its length and its wildcards', () => {
  const accepts = (pattern: string): boolean => ImageGlobs.safeParse([pattern]).success;
  expect(accepts('a'.repeat(MAX_GLOB_LENGTH))).toBe(true);
  expect(accepts('a'.repeat(MAX_GLOB_LENGTH + 1))).toBe(false);
  expect(accepts('*a'.repeat(MAX_GLOB_WILDCARDS))).toBe(true);
  expect(accepts('*a'.repeat(MAX_GLOB_WILDCARDS + 1))).toBe(false);
});

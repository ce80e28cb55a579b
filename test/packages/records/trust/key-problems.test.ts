import { describe, expect, test } from 'vitest';
import { KeyRing } from '../../../../packages/records/trust/key-ring.ts';
import { keyProblems, ownKeyProblems } from '../../../../packages/records/trust/private-key.ts';
import { certified, newKey, revoked, rootsOf, SIGNED_AT_MS } from '../../../fixtures/trust.ts';

const DAY_MS = 86_400_000;
const [root, decider, operator, stranger] = [newKey(), newKey(), newKey(), newKey()];
const END_MS = SIGNED_AT_MS + 30 * DAY_MS;
const BOTH = [certified(root, decider), certified(root, operator, { role: 'operator' })];

function ringOf(records: readonly ReturnType<typeof certified>[]): KeyRing {
  const ring = new KeyRing(rootsOf(root));
  for (const record of records) ring.add(record);
  return ring;
}

const problems = (
  records = BOTH,
  { nowMs = SIGNED_AT_MS, soonMs = DAY_MS, own = null }: Partial<Parameters<typeof keyProblems>[1]> = {},
  unreadable: Parameters<typeof keyProblems>[0]['unreadable'] = [],
) => keyProblems({ ring: ringOf(records), unreadable, isWhole: true }, { nowMs, soonMs, own });

describe('keys of a fleet', () => {
  test('with an operator and a decider are well', () => {
    expect(problems()).toEqual([]);
  });

  test('lack a role that nobody has, or whose key was taken back or has ended', () => {
    expect(problems([])).toEqual([
      'no key of role operator is valid now',
      'no key of role decider is valid now',
    ]);
    expect(problems([...BOTH, revoked(root, decider)])).toEqual(['no key of role decider is valid now']);
    const ended = [...BOTH.slice(1), certified(root, decider, { notAfterMs: SIGNED_AT_MS })];
    expect(problems(ended)).toEqual([
      'no key of role decider is valid now',
      expect.stringMatching(/role decider, expired at .*: its signatures no longer count/),
    ]);
  });

  test('that end soon or have ended are told, those that end later or have a successor are not', () => {
    const soon = { nowMs: END_MS - DAY_MS, soonMs: DAY_MS };
    expect(problems(BOTH, soon)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/role decider, expires at .*; certify it again before then$/),
        expect.stringMatching(/role operator, expires at .*; certify it again before then$/),
      ]),
    );
    expect(problems(BOTH, { ...soon, nowMs: soon.nowMs - 1 })).toEqual([]);
    expect(problems(BOTH, { ...soon, nowMs: END_MS })).toEqual([
      'no key of role operator is valid now',
      'no key of role decider is valid now',
      expect.stringMatching(
        /role \w+, expired at .*: its signatures no longer count. Certify it again, or revoke it/,
      ),
      expect.stringMatching(/expired at/),
    ]);
    const renewed = certified(root, stranger, { role: 'decider', notAfterMs: END_MS + 30 * DAY_MS });
    expect(problems([...BOTH, renewed], { ...soon, nowMs: END_MS })).toEqual([
      'no key of role operator is valid now',
      expect.stringMatching(/role operator, expired at/),
    ]);
    expect(problems([...BOTH, certified(root, stranger), revoked(root, stranger)], soon)).toHaveLength(2);
  });

  test('beside what is no statement', () => {
    expect(problems(BOTH, {}, [{ offset: '7', key: 'x', why: 'its signature is missing' }])).toEqual([
      'gc.keys, offset 7 (key "x") is no statement of a root of this fleet: its signature is missing',
    ]);
  });

  test('the own one first', () => {
    const [first, ...rest] = problems([], { own: { key: stranger, role: null } });
    expect(first).toContain(`no root vouches for ${stranger.keyId}`);
    expect(rest).toHaveLength(2);
  });
});

describe('an own key', () => {
  const own = (
    key: typeof decider,
    role: Parameters<typeof ownKeyProblems>[1]['role'],
    records = BOTH,
    nowMs = SIGNED_AT_MS,
  ) => ownKeyProblems(ringOf(records), { key, role }, nowMs);

  test.each(['decider', null] as const)('that may sign as %s is well', (role) => {
    expect(own(decider, role)).toEqual([]);
  });

  test('of a root signs as a root alone', () => {
    expect(own(root, 'root')).toEqual([]);
    expect(own(root, null)).toEqual([]);
    expect(own(root, 'decider')).toEqual([expect.stringContaining('no root vouches for')]);
  });

  test('of another role, revoked, ended or unknown is told', () => {
    expect(own(decider, 'operator')).toEqual([
      expect.stringMatching(/may sign as decider, not as operator$/),
    ]);
    expect(own(decider, 'decider', [...BOTH, revoked(root, decider)])).toEqual([
      `${decider.keyId} was revoked: nobody believes what it signs`,
    ]);
    expect(own(decider, 'decider', BOTH, END_MS - 1)).toEqual([]);
    expect(own(decider, 'decider', BOTH, END_MS)).toEqual([expect.stringContaining('expired at')]);
    expect(own(stranger, 'root')).toEqual([
      `no root vouches for ${stranger.keyId}: nobody believes what it signs`,
    ]);
  });
});

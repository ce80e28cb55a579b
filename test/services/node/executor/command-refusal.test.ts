import { describe, expect, test } from 'vitest';
import { commandRefusal, type Restrictions } from '../../../../services/node/executor/checks.ts';
import { EMPTY_JOURNAL } from '../../../../services/node/executor/journal.ts';
import { NO_LOCAL_RULES } from '../../../../services/node/executor/local-rules.ts';
import { containerRemoval } from '../../../fixtures/command.ts';
import { policyRecord } from '../../../fixtures/policy.ts';
import { later } from './support/looked.ts';

const refusalOf = (over: Partial<Restrictions>) =>
  commandRefusal(
    containerRemoval(['dead', 'sandbox-1']),
    {
      policy: { kind: 'enforced', record: policyRecord() },
      distrustOf: () => null,
      local: NO_LOCAL_RULES,
      backoff: [],
      lastActions: EMPTY_JOURNAL.lastActions,
      removalRate: EMPTY_JOURNAL.removalRate,
      ...over,
    },
    later(100),
  );

describe('a command for containers and sandboxes', () => {
  const another = { at: later(50), commandId: 'another' };

  test.each(['container', 'sandbox'] as const)(
    'is not refused whole where another command acted on one kind alone, a %s',
    (kind) => {
      const lastActions = { ...EMPTY_JOURNAL.lastActions, [kind]: another };
      expect(refusalOf({ lastActions })).toBeUndefined();
    },
  );

  test('is refused where another command acted on both', () => {
    const lastActions = { ...EMPTY_JOURNAL.lastActions, container: another, sandbox: another };
    expect(refusalOf({ lastActions })).toEqual({
      reason: 'superseded',
      message: 'the node acted on containers after the inventory was taken (another)',
    });
  });

  test('names the policy that decided and the one in force here, by name and the first digits of the hash', () => {
    const record = { ...policyRecord({ name: 'web' }), hash: 'e'.repeat(64) };
    expect(refusalOf({ policy: { kind: 'enforced', record } })).toEqual({
      reason: 'policy-not-in-force',
      message: 'it was decided under policy default (bbbbbbbbbbbb); in force here is web (eeeeeeeeeeee)',
    });
  });
});

test.each<{ name: string; over: Partial<Restrictions>; refusal: object }>([
  {
    name: 'no policy is in force here, in the words that say why',
    over: { policy: { kind: 'not-enforced', message: 'no policy selects this node now' } },
    refusal: { reason: 'policy-not-in-force', message: 'no policy selects this node now' },
  },
  {
    name: 'the node is paused, with the reason of the pause',
    over: { policy: { kind: 'paused', pause: { reason: 'maintenance' } } },
    refusal: { reason: 'paused', message: 'fleetgc pause is in force: maintenance' },
  },
  {
    name: 'a pause may be hidden, since the policies cannot be read',
    over: { policy: { kind: 'unreadable', message: 'no broker' } },
    refusal: {
      reason: 'held',
      message: 'whether the node is paused cannot be read, so nothing is removed: no broker',
    },
  },
  {
    name: "the node's own file cannot be understood",
    over: { local: { kind: 'held', message: 'no YAML' } },
    refusal: { reason: 'held', message: 'no YAML' },
  },
  {
    name: "the node's own file holds",
    over: { local: { ...NO_LOCAL_RULES, hold: true } },
    refusal: { reason: 'held', message: "the node's own file says hold: true" },
  },
  {
    name: 'its key counts no more',
    over: { distrustOf: (id) => `the key of ${id} was revoked` },
    refusal: { reason: 'not-trusted', message: 'the key of command-1 was revoked' },
  },
])('a command is refused where $name', ({ over, refusal }) => {
  expect(refusalOf(over)).toEqual(refusal);
});

test('a command that nothing forbids is not refused', () => {
  expect(refusalOf({})).toBeUndefined();
});

import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { PolicySet } from '../../../../schemas/policy/policy.ts';
import { overtaken, policyInForce, timeRefusal } from '../../../../services/node/executor/checks.ts';
import { EMPTY_JOURNAL } from '../../../../services/node/executor/journal.ts';
import { EVERY_NODE, NO_POLICY, pauseRecord, policySet } from '../../../fixtures/policy.ts';
import { instant } from '../../../fixtures/time.ts';

const NODE = { cluster: 'prod', node: 'web-1', nodeLabels: { pool: 'web' } };

test('the policy that selects the node and says enforce is in force', () => {
  const set = policySet({ mode: 'enforce' });
  expect(policyInForce(() => set, NODE)).toEqual({ kind: 'enforced', record: set.policies[0] });
});

test.each<{ name: string; set: PolicySet; expected: object }>([
  {
    name: 'the policy that selects it is in dry-run',
    set: policySet({ name: 'web', mode: 'dry-run' }),
    expected: { kind: 'not-enforced', message: 'policy web says dry-run for this node now' },
  },
  {
    name: 'no policy is left',
    set: NO_POLICY,
    expected: { kind: 'not-enforced', message: 'no policy selects this node now' },
  },
  {
    name: 'the policy is for other nodes',
    set: policySet({ selector: { ...EVERY_NODE, nodeLabels: { pool: 'db' } } }),
    expected: { kind: 'not-enforced', message: 'no policy selects this node now' },
  },
  {
    name: 'it is paused',
    set: policySet({ mode: 'enforce' }, [pauseRecord({ reason: 'registry is down' })]),
    expected: { kind: 'paused', pause: { reason: 'registry is down' } },
  },
])('none is when $name', ({ set, expected }) => {
  expect(policyInForce(() => set, NODE)).toMatchObject(expected);
});

test('while the policies cannot be read nobody says that something may go', () => {
  const unreadable = () => {
    throw new FleetGcError('POLICIES_UNREADABLE', 'the policies are not read yet');
  };
  expect(policyInForce(unreadable, NODE)).toEqual({
    kind: 'unreadable',
    message: 'the policies are not read yet',
  });
});

const { sinceBootMs: NOW_MS } = instant();
const agedMs = (ms: number) => ({ takenAt: instant({ sinceBootMs: NOW_MS - ms }), lifetimeMs: 60_000 });

test.each([
  {
    name: 'of a moment that is yet to come',
    command: agedMs(-7),
    expected: { reason: 'taken-in-the-future', message: 'the inventory claims to be taken 7 ms from now' },
  },
  {
    name: 'past its life',
    command: agedMs(60_000),
    expected: {
      reason: 'expired',
      message: 'the inventory was taken 60000 ms ago, and the command lives 60000 ms',
    },
  },
  {
    name: 'of another boot',
    command: { ...agedMs(0), takenAt: instant({ bootId: 'another' }) },
    expected: { reason: 'other-boot', message: 'the node was booted since the inventory was taken' },
  },
])('a command $name is refused, with the times that say so', ({ command, expected }) => {
  expect(timeRefusal(command, instant())).toEqual(expected);
});

test.each([{ ms: 0 }, { ms: 59_999 }])('a command lives from its inventory on, at $ms ms', ({ ms }) => {
  expect(timeRefusal(agedMs(ms), instant())).toBeUndefined();
});

const NO_ACTIONS = EMPTY_JOURNAL.lastActions;

describe('an action after the inventory', () => {
  const command = { id: 'command-2', takenAt: instant() };
  const acted = (commandId: string, at = instant()) =>
    overtaken(command, 'image', { ...NO_ACTIONS, image: { commandId, at } });

  test('of another command overtakes it, and is named', () => {
    expect(acted('command-1')).toEqual({
      reason: 'superseded',
      message: 'the node acted on images after the inventory was taken (command-1)',
    });
  });

  test('that nobody remembers the command of overtakes it too', () => {
    expect(acted('')?.message).toContain('(journal lost)');
  });

  test.each([
    { name: 'of the command itself', refusal: acted('command-2') },
    { name: 'before the inventory', refusal: acted('command-1', instant({ sinceBootMs: NOW_MS - 1 })) },
    { name: 'in another boot', refusal: acted('command-1', instant({ bootId: 'another' })) },
    { name: 'on another kind of object', refusal: overtaken(command, 'sandbox', NO_ACTIONS) },
  ])('$name does not', ({ refusal }) => {
    expect(refusal).toBeUndefined();
  });
});

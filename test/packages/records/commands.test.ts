import { expect, test } from 'vitest';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { distrustOf, requireRoom, selectInForce } from '../../../packages/records/commands.ts';
import { CLUSTER } from '../../fixtures/cluster.ts';

function unreadable(): never {
  throw new FleetGcError('KEYS_UNREADABLE', 'the keys cannot be read');
}

const SIGNED = { keyId: 'a', key: 'c1' };

test.each<[string, () => string | null, string | null]>([
  ['of a key that does not count', () => 'the key was withdrawn', 'the key was withdrawn'],
  ['of a key that counts', () => null, null],
  ['while nobody can tell', unreadable, 'the keys cannot be read'],
])('what is objected to a signer: %s', (_, objectionTo, expected) => {
  expect(distrustOf({ objectionTo }, 'clusterCommands', SIGNED)).toBe(expected);
  expect(distrustOf({ objectionTo }, 'commands', SIGNED)).toBe(expected);
});

test('the signer is judged for the topic and the key of the command', () => {
  const asked: unknown[] = [];
  const objectionTo = (...what: readonly unknown[]): null => {
    asked.push(what);
    return null;
  };
  distrustOf({ objectionTo }, 'clusterCommands', SIGNED);
  expect(asked).toEqual([['clusterCommands', 'a', 'c1']]);
});

test('policies that cannot be read are not the same as none', () => {
  expect(selectInForce<'cluster'>(unreadable, CLUSTER)).toEqual({
    kind: 'unreadable',
    message: 'the keys cannot be read',
  });
});

test('no more commands are taken where too many results wait', () => {
  expect(() => requireRoom(10, 10)).not.toThrow();
  expect(() => requireRoom(11, 10)).toThrow('10 results wait to be published');
});

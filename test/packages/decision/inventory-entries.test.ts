import { expect, test } from 'vitest';
import { countedKind } from '../../../packages/decision/inventory-entries.ts';
import { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import { overtaken } from '../../../services/node-executor/checks/command-checks.ts';
import { instant } from '../../fixtures/time.ts';

test('kinds of objects are told in words, one and many', () => {
  expect(ObjectKind.options.map((kind) => countedKind(1, kind))).toEqual([
    '1 container',
    '1 sandbox',
    '1 pod log directory',
    '1 log symlink',
    '1 image',
  ]);
  expect(countedKind(2, 'pod-log-directory')).toBe('2 pod log directories');
  expect(countedKind(0, 'sandbox')).toBe('0 sandboxes');
});

test('a command that came too late is told so in these words', () => {
  const nothing = {
    image: null,
    container: null,
    sandbox: null,
    'pod-log-directory': null,
    'log-symlink': null,
  };
  const last = { at: instant(), commandId: 'command-2' };
  const command = { id: 'command-1', takenAt: instant() };
  expect(overtaken(command, 'pod-log-directory', { ...nothing, 'pod-log-directory': last })).toMatchObject({
    message: 'the node acted on pod log directories after the inventory was taken (command-2)',
  });
});

import { expect, test } from 'vitest';
import { COMMAND_VERSION, MAX_COMMAND_ITEMS } from '../../schemas/events/command.ts';
import { ObjectKind } from '../../schemas/events/object-kinds.ts';

/** Commands are strict: an executor of a release before refuses what its version does not have, so that is another version. */
test('what a command of each version may name', () => {
  expect({
    version: COMMAND_VERSION,
    items: MAX_COMMAND_ITEMS,
    kinds: ObjectKind.options.toSorted(),
  }).toEqual({
    version: 1,
    items: 50,
    kinds: ['container', 'image', 'log-symlink', 'pod-log-directory', 'sandbox'],
  });
});

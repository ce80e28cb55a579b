import { expect, test } from 'vitest';
import { containerRemoval, imageRemoval } from '../../../../test/fixtures/command.ts';
import { Signatories } from './claims.ts';
import { madeMessage, messageOf } from './message.ts';
import { goneBy, IMAGE_IDS } from './orders.ts';

test.each([
  { what: 'images', command: imageRemoval(IMAGE_IDS), gone: IMAGE_IDS },
  {
    what: 'containers and sandboxes',
    command: containerRemoval(['container-1', 'sandbox-1']),
    gone: ['container-1', 'sandbox-1'],
  },
  {
    what: 'a container beside one that runs',
    command: containerRemoval(['container-2', 'running']),
    gone: ['container-2'],
  },
])(
  'of the node that commands are given to, what may go does go, and nothing else: $what',
  async ({ command, gone }) => {
    const signatories = new Signatories();
    const made = madeMessage('commands', messageOf(command), signatories);
    expect(made && (await goneBy(made.record, signatories))).toEqual(gone);
  },
);

import { beforeEach, expect, test } from 'vitest';
import { createCommandTally } from '../../../../lab/sim/fleet-run/tally.ts';
import type { CommandResult } from '../../../../schemas/events/result.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { objectResult, refusedCommand } from '../../../fixtures/results.ts';

const NODE = 'web-1';

const done: CommandResult['result'] = {
  outcome: 'done',
  removed: 1,
  notFound: 0,
  refused: 0,
  failed: 0,
  notNeeded: 0,
  notDone: 0,
  measured: null,
  estimatedBytes: null,
  targetReached: null,
};

const now = { ms: 0 };
beforeEach(() => {
  now.ms = 0;
});

/** A node that was told to remove these images. */
function told(ids: readonly string[]) {
  const commanded = createCommandTally(() => now.ms);
  commanded.received(NODE, imageRemoval(ids));
  return commanded;
}

test('a command that comes again is counted and is no other', () => {
  const commanded = told(['image-1']);
  expect(commanded.received(NODE, imageRemoval(['image-1']))).toBe(false);
  expect(commanded.counts()).toMatchObject({ commands: { received: 1, again: 1 }, commanded: { image: 1 } });
});

test('what goes is listed once, then it goes twice; what no command of the node lists is not listed', () => {
  const commanded = told(['image-1']);
  expect(commanded.takes(NODE, 'image', 'image-2')).toBe('not-listed');
  expect(commanded.takes('web-2', 'image', 'image-1')).toBe('not-listed');
  expect(commanded.takes(NODE, 'container', 'image-1')).toBe('not-listed');
  expect(commanded.takes(NODE, 'image', 'image-1')).toBe('listed');
  expect(commanded.takes(NODE, 'image', 'image-1')).toBe('twice');
  commanded.objectResult(objectResult());
  commanded.commandResult(refusedCommand({ result: done }));
  expect(commanded.takes(NODE, 'image', 'image-1')).toBe('twice');
});

test('an image that came back goes again by another command', () => {
  const commanded = told(['image-1']);
  commanded.takes(NODE, 'image', 'image-1');
  commanded.commandResult(refusedCommand({ result: done }));
  commanded.received(NODE, imageRemoval(['image-1'], { id: 'command-2' }));
  expect(commanded.takes(NODE, 'image', 'image-1')).toBe('listed');
});

test('a command is open until its result; objects of a command that is over have to have theirs', () => {
  const commanded = told(['image-1', 'image-2']);
  commanded.takes(NODE, 'image', 'image-1');
  commanded.objectResult(objectResult());
  expect(commanded.open()).toEqual([{ id: 'command-1', node: NODE, isOverdue: false }]);
  now.ms = 600_000;
  expect(commanded.open()).toEqual([{ id: 'command-1', node: NODE, isOverdue: true }]);
  commanded.commandResult(refusedCommand({ result: done }));
  expect(commanded.open()).toEqual([]);
  expect(commanded.counts()).toMatchObject({ outcomes: { removed: 1 }, withoutResult: 1, saidNotDone: 0 });
});

test('all objects of a command that is refused are refused for its reason', () => {
  const commanded = told(['image-1', 'image-2']);
  commanded.commandResult(refusedCommand());
  expect(commanded.counts()).toMatchObject({
    outcomes: { refused: 2 },
    refused: { expired: 2 },
    withoutResult: 0,
  });
});

test('what a node says and what is true are held against each other', () => {
  const commanded = told(['image-1', 'image-2']);
  commanded.objectResult(objectResult());
  commanded.takes(NODE, 'image', 'image-2');
  commanded.objectResult(
    objectResult({ object: { kind: 'image', id: 'image-2' }, result: { outcome: 'not-found' } }),
  );
  commanded.commandResult(refusedCommand({ result: done }));
  expect(commanded.counts()).toMatchObject({ saidNotDone: 1, doneNotSaid: 1 });
});

import { describe, expect, test } from 'vitest';
import { ExecutedReclaims } from '../../../../packages/audit/verify/reclaims.ts';
import { continuesId, unrelievedId } from '../../../../packages/decision/result-ids.ts';
import type { Holder } from '../../../../schemas/events/command.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { pressureUnrelieved, reclaimGoesOn } from '../../../fixtures/results.ts';
import { at } from './support.ts';

const holder = (reason: Holder['reason']): Holder => ({ reason, objects: 10, bytes: 58_720_256 });
const command = imageRemoval(['a'], { reclaim: reclaim(), holders: [holder('in-use')] });

/** What differs in an unrelieved reclaim of the command with these holders. */
function differenceWith(holders: readonly Holder[]): string | null | undefined {
  const reclaims = new ExecutedReclaims();
  reclaims.commanded(command, at('commands', 1));
  const { cluster, node, nodeInstance } = command;
  const id = unrelievedId(command.id);
  const event = pressureUnrelieved({
    id,
    cluster,
    node,
    nodeInstance,
    reclaim: reclaim(),
    holders: [...holders],
  });
  return reclaims.executed(event)?.difference;
}

describe('a reclaim that a command did not relieve', () => {
  test.each(['waiting', 'backing-off', 'held'] as const)(
    '[M8] an executor adds what of the command stayed: %s',
    (reason) => {
      expect(differenceWith([holder('in-use'), holder(reason)])).toBeNull();
    },
  );

  test('what held the space before the command is as it was decided', () => {
    expect(differenceWith([holder('pinned')])).toContain('holders');
    expect(differenceWith([])).toContain('holders');
  });
});

test('what was commanded lately is known, in whatever number, and a fact of another reclaim follows from none of it', () => {
  const reclaims = new ExecutedReclaims();
  const last = 30_000;
  for (let index = 0; index <= last; index += 1)
    reclaims.commanded({ ...command, id: `command-${index}` }, at('commands', index));
  const factOf = (index: number) =>
    pressureUnrelieved({ id: unrelievedId(`command-${index}`), reclaim: reclaim() });
  expect(reclaims.executed(factOf(last))).not.toBeNull();
  expect(reclaims.executed({ ...factOf(last), reclaim: reclaim({ id: 'another' }) })).toBeNull();
  expect(reclaims.executed(factOf(0))).toBeNull();
});

test('a fact of another reclaim, and one of a command without a reclaim, follow from none', () => {
  const reclaims = new ExecutedReclaims();
  reclaims.commanded(command, at('commands', 1));
  reclaims.commanded({ ...command, id: 'without', reclaim: null }, at('commands', 2));
  const factOf = (id: string, over = {}) =>
    pressureUnrelieved({ id: unrelievedId(id), reclaim: reclaim(over) });
  expect(reclaims.executed(factOf(command.id))).not.toBeNull();
  expect(reclaims.executed(factOf(command.id, { id: 'another' }))).toBeNull();
  expect(reclaims.executed(factOf('without'))).toBeNull();
});

describe('a reclaim that goes on after a command', () => {
  const differenceOf = (carried: ReturnType<typeof reclaim>, own = command) => {
    const reclaims = new ExecutedReclaims();
    reclaims.commanded(own, at('commands', 1));
    const { cluster, node, nodeInstance, id: commandId, takenAt } = command;
    const event = reclaimGoesOn({
      id: continuesId(commandId),
      cluster,
      node,
      nodeInstance,
      commandId,
      takenAt,
      reclaim: carried,
    });
    return reclaims.executed(event)?.difference;
  };

  test('is at its next round', () => {
    expect(differenceOf(reclaim({ round: 2 }))).toBeNull();
  });

  test('is at its next action, where another round cannot help', () => {
    const actions = ['images', 'containers'] as const;
    const imagesFirst = reclaim({ actions: [...actions], step: 'images' });
    const own = { ...command, reclaim: imagesFirst };
    expect(differenceOf({ ...imagesFirst, round: 2 }, own)).toBeNull();
    expect(differenceOf({ ...imagesFirst, step: 'containers' }, own)).toBeNull();
  });

  test('is not at any other', () => {
    expect(differenceOf(reclaim({ round: 3 }))).toContain('round');
    expect(differenceOf(reclaim())).toContain('round');
  });
});

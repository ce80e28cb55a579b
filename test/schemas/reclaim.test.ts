import { describe, expect, test } from 'vitest';
import { atNextAction, Reclaim } from '../../schemas/events/reclaim.ts';
import { reclaim } from '../fixtures/reclaim.ts';

describe('[J5] a reclaim goes through its actions in their order', () => {
  test.each<{ name: string; over: Parameters<typeof reclaim>[0]; next: Reclaim['step'] | null }>([
    { name: 'images after containers', over: { step: 'containers' }, next: 'images' },
    { name: 'nothing after the last', over: { step: 'images' }, next: null },
    { name: 'nothing after images alone', over: { actions: ['images'] }, next: null },
    {
      name: 'nothing after containers alone',
      over: { actions: ['containers'], step: 'containers' },
      next: null,
    },
    {
      name: 'containers after images where that is the order',
      over: { actions: ['images', 'containers'], round: 3 },
      next: 'containers',
    },
  ])('$name', ({ over, next }) => {
    const given = reclaim(over);
    expect(atNextAction(given)).toEqual(next && { ...given, step: next, round: 1 });
  });
});

describe('what is read', () => {
  test('without its actions, as older releases wrote it, has both', () => {
    const { actions, ...older } = reclaim();
    expect(Reclaim.parse(older)).toEqual({ ...older, actions: ['containers', 'images'] });
  });

  test.each([
    { name: 'no action', over: { actions: [] } },
    { name: 'an action twice', over: { actions: ['images', 'images'] } },
    { name: 'a step that is none of the actions', over: { actions: ['containers'] } },
  ])('$name is refused', ({ over }) => {
    expect(Reclaim.safeParse({ ...reclaim(), ...over }).success).toBe(false);
  });
});

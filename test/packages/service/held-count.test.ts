import { expect, test } from 'vitest';
import { HeldCount } from '../../../packages/service/decision-writing.ts';
import type { ClusterDecision } from '../../../schemas/events/cluster-decision.ts';
import { clusterDecision } from '../../fixtures/cluster.ts';
import { candidate, ownership } from '../../fixtures/ownership.ts';
import { MINUTE } from '../../fixtures/time.ts';

function counted() {
  const clock = { nowMs: 0 };
  const held = new HeldCount(() => clock.nowMs);
  const candidates = ['a', 'b'].map((uid) => candidate({ object: { uid } }));
  /** What becomes of each of them. */
  const decide = (
    actions: readonly ClusterDecision['verdicts'][number]['action'][],
    over: Partial<ClusterDecision> = {},
  ): void => {
    const verdicts = actions.map((action, position) => ({ position, action, rule: 'S1', facts: {} }));
    held.take(ownership({ candidates }), clusterDecision({ verdicts, ...over }));
  };
  return { held, clock, decide, now: () => Object.fromEntries(held.byRule()) };
}

test('objects that are held are counted by rule, each once', () => {
  const { decide, now } = counted();
  decide(['hold', 'hold']);
  decide(['hold', 'hold']);
  expect(now()).toEqual({ S1: 2 });
});

test('what goes, stays by another rule, or is not ours to collect is held no longer', () => {
  const { decide, now } = counted();
  decide(['hold', 'hold']);
  decide(['delete', 'hold']);
  expect(now()).toEqual({ S1: 1 });
  decide(['keep', 'hold'], { outcome: 'not-ours' });
  expect(now()).toEqual({});
});

test('what is a candidate no longer is held no longer', () => {
  const { held, decide, now } = counted();
  decide(['hold', 'hold']);
  const settled = [{ ...candidate().object, uid: 'a', how: 'gone' as const }];
  held.take(ownership({ candidates: [], settled }), clusterDecision({ verdicts: [] }));
  expect(now()).toEqual({ S1: 1 });
});

test('what is not told again within a quarter of an hour has gone', () => {
  const { clock, decide, now } = counted();
  decide(['hold']);
  clock.nowMs = 15 * MINUTE;
  expect(now()).toEqual({ S1: 1 });
  clock.nowMs += 1;
  expect(now()).toEqual({});
});

import { expect, test } from 'vitest';
import { RemovedByOthers } from '../../../../packages/audit/verify/removals.ts';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import type { ObjectOutcome } from '../../../../schemas/events/result.ts';
import { container, image, inventory, sandbox } from '../../../fixtures/inventory.ts';
import { objectResult, removed } from '../../../fixtures/results.ts';
import { HOUR, MINUTE } from '../../../fixtures/time.ts';
import { AT_END, at, findings, midway } from './support.ts';

function check() {
  const found = findings();
  const vanished = new RemovedByOthers(found.collector);
  const gone = (): string[] =>
    found.collector
      .found()
      .notOurs.first.map(
        ({ kind, id, places: [before, after] }) => `${kind} ${id} ${before.offset}-${after.offset}`,
      );
  return { vanished, gone };
}

const WITH: CompleteInventory = inventory({
  images: [image('a'), image('b')],
  containers: [container('c')],
  sandboxes: [sandbox('s')],
});
const WITHOUT: CompleteInventory = { ...WITH, images: [image('b')], containers: [], sandboxes: [] };
const REINSTALLED = '00000000-0000-4000-8000-000000000000';

test('what a node listed and then did not is not ours, each kind of it once', () => {
  const { vanished, gone } = check();
  vanished.listed(WITH, at('inventory', 0));
  vanished.listed(WITHOUT, at('inventory', 1, MINUTE));
  vanished.listed(WITHOUT, at('inventory', 2, 2 * MINUTE));
  vanished.judge(AT_END);
  expect(gone()).toEqual(['image a 0-1', 'container c 0-1', 'sandbox s 0-1']);
});

test.each<{ outcome: ObjectOutcome; ours: boolean }>([
  { outcome: removed(1), ours: true },
  { outcome: { outcome: 'not-found' }, ours: true },
  { outcome: { outcome: 'failed', reason: 'runtime-error', message: '', backoffUntilMs: 1 }, ours: true },
  { outcome: { outcome: 'refused', reason: 'in-use', message: '' }, ours: false },
  { outcome: { outcome: 'not-needed', message: '' }, ours: false },
  { outcome: { outcome: 'not-done', message: '' }, ours: false },
])(
  'with a result $outcome.outcome, before or after the inventory, it is ours: $ours',
  ({ outcome, ours }) => {
    for (const comesFirst of [true, false]) {
      const { vanished, gone } = check();
      const answer = objectResult({ object: { kind: 'image', id: 'a' }, result: outcome });
      vanished.listed({ ...WITH, containers: [], sandboxes: [] }, at('inventory', 0));
      if (comesFirst) vanished.answered(answer, at('results', 0, MINUTE));
      vanished.listed(WITHOUT, at('inventory', 1, MINUTE));
      if (!comesFirst) vanished.answered(answer, at('results', 0, 2 * MINUTE));
      vanished.judge(AT_END);
      expect(gone()).toEqual(ours ? [] : ['image a 0-1']);
    }
  },
);

test('a result about another kind of object of the same id says nothing', () => {
  const { vanished, gone } = check();
  vanished.listed({ ...WITH, containers: [], sandboxes: [] }, at('inventory', 0));
  vanished.answered(objectResult({ object: { kind: 'container', id: 'a' } }), at('results', 0));
  vanished.listed(WITHOUT, at('inventory', 1, MINUTE));
  vanished.judge(AT_END);
  expect(gone()).toEqual(['image a 0-1']);
});

test('a node that was installed again, and another node, have nothing in common with the one before', () => {
  for (const other of [{ nodeInstance: REINSTALLED }, { node: 'web-2' }, { cluster: 'test' }]) {
    const { vanished, gone } = check();
    vanished.listed(WITH, at('inventory', 0));
    vanished.listed({ ...WITHOUT, ...other }, at('inventory', 1, MINUTE));
    vanished.answered(
      objectResult({ ...other, object: { kind: 'image', id: 'a' } }),
      at('results', 0, MINUTE),
    );
    vanished.listed(WITHOUT, at('inventory', 2, 2 * MINUTE));
    vanished.judge(AT_END);
    expect(gone()).toEqual(['image a 0-2', 'container c 0-2', 'sandbox s 0-2']);
  }
});

test('an inventory that is not complete says nothing of what is gone', () => {
  const { vanished, gone } = check();
  vanished.listed(WITH, at('inventory', 0));
  vanished.listed({ ...WITHOUT, status: 'incomplete' }, at('inventory', 1, MINUTE));
  vanished.listed(WITH, at('inventory', 2, 2 * MINUTE));
  vanished.judge(AT_END);
  expect(gone()).toEqual([]);
});

test('what went just now may still be told of; what went before the judged time is not waited for', () => {
  const { vanished, gone } = check();
  vanished.listed(WITH, at('inventory', 0));
  vanished.listed({ ...WITH, containers: [] }, at('inventory', 1, MINUTE));
  vanished.listed(WITHOUT, at('inventory', 2, HOUR));
  vanished.judge(midway(HOUR));
  expect(gone()).toEqual(['container c 0-1']);
  vanished.answered(objectResult({ object: { kind: 'image', id: 'a' } }), at('results', 0, HOUR));
  vanished.judge(AT_END);
  expect(gone()).toEqual(['container c 0-1', 'sandbox s 1-2']);
});

test('a removal is remembered for a day', () => {
  for (const { afterMs, expected } of [
    { afterMs: 24 * HOUR, expected: [] },
    { afterMs: 24 * HOUR + 1, expected: ['image a 0-1'] },
  ]) {
    const { vanished, gone } = check();
    vanished.answered(objectResult({ object: { kind: 'image', id: 'a' } }), at('results', 0));
    vanished.listed({ ...WITH, containers: [], sandboxes: [] }, at('inventory', 0, afterMs));
    vanished.judge(midway(afterMs));
    vanished.listed(WITHOUT, at('inventory', 1, afterMs + MINUTE));
    vanished.judge(AT_END);
    expect(gone()).toEqual(expected);
  }
});

test('while nothing is due yet, nothing is told', () => {
  const { vanished, gone } = check();
  vanished.listed(WITH, at('inventory', 0));
  vanished.listed(WITHOUT, at('inventory', 1, MINUTE));
  vanished.judge(midway(MINUTE));
  expect(gone()).toEqual([]);
  vanished.judge(midway(MINUTE + 1));
  expect(gone()).toEqual(['image a 0-1', 'container c 0-1', 'sandbox s 0-1']);
});

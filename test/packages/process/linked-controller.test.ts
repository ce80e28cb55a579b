import { expect, test } from 'vitest';
import { LinkedController } from '../../../packages/process/linked-controller.ts';
import { leftAt } from '../../support/left-at-signal.ts';

test('it aborts with the first of the others, for the same reason', () => {
  const [first, second] = [new AbortController(), new AbortController()];
  const linked = new LinkedController(first.signal, second.signal);
  expect(linked.signal.aborted).toBe(false);
  second.abort('the second');
  first.abort('the first');
  expect(linked.signal.reason).toBe('the second');
});

test('it is aborted from its beginning where one of the others is', () => {
  const linked = new LinkedController(new AbortController().signal, AbortSignal.abort('before'));
  expect(linked.signal.reason).toBe('before');
});

test('it aborts by itself, and the others do not', () => {
  const other = new AbortController();
  const linked = new LinkedController(other.signal);
  linked.abort('by itself');
  expect([linked.signal.reason, other.signal.aborted]).toEqual(['by itself', false]);
});

test.each<{ how: string; end: (linked: LinkedController, second: AbortController) => void }>([
  { how: 'was disposed', end: (linked) => linked[Symbol.dispose]() },
  { how: 'has aborted', end: (linked) => linked.abort() },
  { how: 'has aborted with another', end: (_, second) => second.abort() },
])('it leaves nothing at a signal that outlives it, once it $how', ({ end }) => {
  const [longLived, second] = [new AbortController(), new AbortController()];
  const linked = new LinkedController(longLived.signal, second.signal);
  expect(leftAt(longLived.signal)).toBe(1);
  end(linked, second);
  expect([leftAt(longLived.signal), leftAt(second.signal)]).toEqual([0, 0]);
});

test('once it is disposed, no other aborts it', () => {
  const other = new AbortController();
  const linked = new LinkedController(other.signal);
  linked[Symbol.dispose]();
  other.abort();
  expect(linked.signal.aborted).toBe(false);
});

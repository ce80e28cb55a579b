import { describe, expect, test } from 'vitest';
import {
  accepted,
  acted,
  answered,
  EMPTY_JOURNAL,
  finished,
  JournalState,
  knows,
  MAX_APPLIED_IDS,
  MAX_REFUSED_IDS,
  progressed,
  published,
  pushedOut,
  type Unpublished,
  waitingEntries,
  withUnpublished,
} from '../../../../services/node/executor/journal.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { refusedCommand } from '../../../fixtures/results.ts';
import { instant } from '../../../fixtures/time.ts';

const entry = (id: string) => ({
  command: imageRemoval(['x'], { id }),
  trace: null,
  signedBy: null,
  before: null,
  items: [{ state: 'waiting' as const }],
});
const BEGUN = { availableBytes: '1', inodesFree: null };
const answer = (key: string): Unpublished => ({
  trace: null,
  output: { topic: 'results', key, event: refusedCommand() },
});
const read = (state: object) => JournalState.parse(JSON.parse(JSON.stringify(state)));

test('a journal begins with nothing in it', () => {
  expect(EMPTY_JOURNAL).toEqual({
    version: 1,
    entries: [],
    unpublished: [],
    appliedIds: [],
    refusedIds: [],
    lastActions: {
      image: null,
      container: null,
      sandbox: null,
      'pod-log-directory': null,
      'log-symlink': null,
    },
    removalRate: { bootId: '', minutes: [] },
    imagePassFailed: false,
  });
});

test('what older releases did not keep is read as nothing', () => {
  const { refusedIds: _refused, imagePassFailed: _failed, ...older } = EMPTY_JOURNAL;
  const { container, sandbox, image } = EMPTY_JOURNAL.lastActions;
  const { signedBy: _signer, ...old } = entry('a');
  const entries = [{ ...old, before: { availableBytes: '1' } }];
  expect(read({ ...older, entries, lastActions: { container, sandbox, image } })).toEqual({
    ...EMPTY_JOURNAL,
    entries: [{ ...entry('a'), before: BEGUN }],
  });
});

test.each([
  { state: 'waiting' },
  { state: 'in-hand', since: instant() },
  { state: 'removed', durationMs: 5 },
  { state: 'done', outcome: 'removed' },
  { state: 'done', outcome: 'failed' },
])('how far an object is comes back from the disk: $state', (item) => {
  const state = { ...EMPTY_JOURNAL, entries: [{ ...entry('a'), items: [item] }] };
  expect(read(state)).toEqual(state);
});

test.each([
  { state: 'gone' },
  { state: 'removed' },
  { state: 'removed', durationMs: -1 },
  { state: 'done', outcome: 'else' },
])('what no journal says is not read: $state', (item) => {
  expect(() => read({ ...EMPTY_JOURNAL, entries: [{ ...entry('a'), items: [item] }] })).toThrow();
});

test('where a command came from, what the log lacks and what went last come back from the disk', () => {
  const trace = { traceparent: 'parent', tracestate: 'state' };
  const state = {
    ...EMPTY_JOURNAL,
    entries: [{ ...entry('a'), trace, signedBy: 'key-1' }],
    unpublished: [{ ...answer('prod/web-1'), trace: { traceparent: 'parent' } }],
    lastActions: {
      ...EMPTY_JOURNAL.lastActions,
      image: { at: instant(), commandId: 'a', reclaimId: 'r' },
      'log-symlink': { at: instant(), commandId: 'b' },
    },
  };
  expect(read(state)).toEqual(state);
});

describe('a command', () => {
  test('is known while it is in hand, when it has ended, and when it was answered', () => {
    const inHand = accepted(EMPTY_JOURNAL, entry('a'));
    expect([knows(EMPTY_JOURNAL, 'a'), knows(inHand, 'a'), knows(inHand, 'b')]).toEqual([false, true, false]);
    expect(finished(inHand, 'a', [])).toMatchObject({ entries: [], appliedIds: ['a'], refusedIds: [] });
    expect(knows(finished(inHand, 'a', []), 'a')).toBe(true);
    expect(answered(EMPTY_JOURNAL, 'c', [])).toMatchObject({ appliedIds: [], refusedIds: ['c'] });
    expect(knows(answered(EMPTY_JOURNAL, 'c', []), 'c')).toBe(true);
  });

  test('that ends leaves the others as they are, and its events behind those before it', () => {
    const both = accepted(accepted(withUnpublished(EMPTY_JOURNAL, answer('x')), entry('a')), entry('b'));
    const ended = finished(both, 'a', [answer('y')]);
    expect(ended.entries).toEqual([entry('b')]);
    expect(ended.unpublished).toEqual([answer('x'), answer('y')]);
    expect(published(ended, 1, []).unpublished).toEqual([answer('y')]);
  });

  test('that makes room is answered and gone; the first is never pushed out, nor one that was begun', () => {
    const [first, second, third] = [entry('a'), entry('b'), { ...entry('c'), before: BEGUN }];
    const state = { ...EMPTY_JOURNAL, entries: [first, second, third] };
    expect(waitingEntries(state)).toEqual([second]);
    const pushed = pushedOut(withUnpublished(state, answer('x')), second, [answer('y')]);
    expect(pushed.entries).toEqual([first, third]);
    expect(pushed.refusedIds).toEqual(['b']);
    expect(pushed.unpublished).toEqual([answer('x'), answer('y')]);
  });

  test('progresses by itself', () => {
    const state = accepted(accepted(EMPTY_JOURNAL, entry('a')), entry('b'));
    const next = progressed(state, { commandId: 'b', index: 0 }, { state: 'removed', durationMs: 3 });
    expect(next.entries).toEqual([
      entry('a'),
      { ...entry('b'), items: [{ state: 'removed', durationMs: 3 }] },
    ]);
  });
});

test('the newest ids are remembered, each once', () => {
  const many = (most: number) => Array.from({ length: most }, (_, index) => `id-${index}`);
  const applied = { ...EMPTY_JOURNAL, appliedIds: many(MAX_APPLIED_IDS) };
  expect(finished(applied, 'new', []).appliedIds).toEqual([...many(MAX_APPLIED_IDS).slice(1), 'new']);
  const refused = { ...EMPTY_JOURNAL, refusedIds: many(MAX_REFUSED_IDS) };
  expect(answered(refused, 'new', []).refusedIds).toEqual([...many(MAX_REFUSED_IDS).slice(1), 'new']);
  const known = { ...EMPTY_JOURNAL, refusedIds: ['a', 'b'] };
  expect(answered(known, 'a', []).refusedIds).toEqual(['b', 'a']);
});

test('what was done last is kept by the kind of object', () => {
  const action = { at: instant(), commandId: 'a' };
  const { lastActions } = acted(EMPTY_JOURNAL, 'sandbox', action);
  expect(lastActions).toEqual({ ...EMPTY_JOURNAL.lastActions, sandbox: action });
});

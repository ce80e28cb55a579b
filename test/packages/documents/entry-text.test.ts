import { expect, test } from 'vitest';
import { entryText, reasonText } from '../../../packages/documents/explanation.ts';
import { factsText } from '../../../packages/documents/facts.ts';
import type { ExplainedObject, TimelineEntry } from '../../../schemas/reports/timeline.ts';
import { MINUTE, NOW } from '../../fixtures/time.ts';

const object: ExplainedObject = { kind: 'image', id: 'sha256:a', name: 'web:1' };
const user = (name: string): ExplainedObject => ({ kind: 'container', id: name, name });
const base = {
  loggedAtMs: NOW,
  nodeTimeMs: NOW,
  record: { topic: 'gc.node.results', partition: 0, offset: '0' },
  object,
};
const repeated = { times: 3, last: { loggedAtMs: NOW + MINUTE, nodeTimeMs: NOW } };
const decided = {
  decider: 'image-gc',
  decisionId: 'decision-1',
  outcome: 'nothing-to-do',
  reason: 'the node is paused',
  policy: { name: 'nightly', version: 3, hash: 'a' },
} as const;
const overtaken = { outcome: 'overtaken', reason: 'a newer look was already there', policy: null } as const;
const verdict = { what: 'verdict', ...base, ...repeated, ...decided, facts: {}, because: 'unused' } as const;
const result = {
  what: 'result',
  ...base,
  commandId: 'command-1',
  wholeCommand: false,
  rule: 'D11',
  reason: null,
  message: null,
  expectedBytes: null,
  measured: null,
} as const;
const used = { what: 'used', ...base, lastUsedMs: null } as const;

test.each<{ is: string; entry: TimelineEntry }>([
  {
    is: 'seen: new; tags web:1 web:2, pinned yes',
    entry: { what: 'seen', ...base, how: 'new', traits: { tags: 'web:1 web:2', pinned: true, digests: 'x' } },
  },
  { is: 'back: pulled again', entry: { what: 'seen', ...base, how: 'again', traits: { tags: 'web:1' } } },
  {
    is: 'back: there again; state running',
    entry: { what: 'seen', ...base, object: user('c'), how: 'again', traits: { state: 'running' } },
  },
  {
    is: 'changed: state exited (was running)',
    entry: { what: 'changed', ...base, from: { state: 'running' }, to: { state: 'exited' } },
  },
  {
    is: 'used: by container a, container b, container c and 1 more',
    entry: {
      ...used,
      users: ['a', 'b', 'c', 'd'].map(user),
      begun: ['a', 'b', 'c', 'd'].map(user),
      ended: [],
    },
  },
  {
    is: 'used: also by container b; not any more by container c',
    entry: { ...used, users: [user('a'), user('b')], begun: [user('b')], ended: [user('c')] },
  },
  {
    is: 'used: not any more by container c; still by 1',
    entry: { ...used, users: [user('a')], begun: [], ended: [user('c')] },
  },
  {
    is: 'unused: not any more by container c; by nobody now; last used never',
    entry: { ...used, users: [], begun: [], ended: [user('c')] },
  },
  {
    is: 'kept: unused (D10), 3 times until 2026-01-01T00:01:00Z',
    entry: { ...verdict, action: 'keep', rule: 'D10' },
  },
  {
    is: 'kept: kept by base/* (M11: images 2), 3 times until 2026-01-01T00:01:00Z',
    entry: {
      ...verdict,
      action: 'keep',
      rule: 'M11',
      because: 'kept by base/*',
      facts: { keptBy: 'base/*', images: 2 },
    },
  },
  {
    is: 'dry run: would go: unused (D11) under policy nightly, version 3',
    entry: { ...verdict, times: 1, action: 'remove', rule: 'D11', outcome: 'dry-run' },
  },
  {
    is: 'kept: too young (D10: age 3m to 13m, minimum age 1h), 3 times until 2026-01-01T00:01:00Z',
    entry: {
      ...verdict,
      action: 'keep',
      rule: 'D10',
      because: 'too young',
      facts: { ageMs: 13 * MINUTE, minimumAgeMs: 60 * MINUTE },
      spread: {
        least: { reason: '', facts: { ageMs: 3 * MINUTE, minimumAgeMs: 60 * MINUTE } },
        most: { reason: '', facts: { ageMs: 13 * MINUTE, minimumAgeMs: 60 * MINUTE } },
      },
    },
  },
  {
    is: 'undecided: imagefs is used to 60% to 73%, with 900 MB to 1.2 GB left, 3 times until 2026-01-01T00:01:00Z',
    entry: {
      what: 'undecided',
      ...base,
      ...repeated,
      ...decided,
      reason: 'imagefs is used to 73%, with 900000000 bytes left',
      spread: {
        least: { reason: 'imagefs is used to 60%, with 900000000 bytes left', facts: {} },
        most: { reason: 'imagefs is used to 73%, with 1200000000 bytes left', facts: {} },
      },
    },
  },
  {
    is: 'undecided: the node is paused, 3 times until 2026-01-01T00:01:00Z',
    entry: { what: 'undecided', ...base, ...repeated, ...decided },
  },
  {
    is: 'undecided: passed over: a newer look was already there, 3 times until 2026-01-01T00:01:00Z',
    entry: { what: 'undecided', ...base, ...repeated, ...decided, ...overtaken },
  },
  {
    is: 'decided: image-gc: passed over: a newer look was already there, 3 times until 2026-01-01T00:01:00Z',
    entry: {
      what: 'decision',
      ...base,
      ...repeated,
      ...decided,
      ...overtaken,
      removals: 0,
      estimatedBytes: 0,
      answered: null,
      reclaim: null,
    },
  },
  {
    is: 'not found: it was gone already when the node came to it',
    entry: { ...result, outcome: 'not-found' },
  },
  {
    is: 'refused: the whole command: too late',
    entry: { ...result, outcome: 'refused', wholeCommand: true, reason: 'expired', message: 'too late' },
  },
  { is: 'failed: still listed', entry: { ...result, outcome: 'failed', message: 'still listed' } },
  {
    is: 'removed: nobody could measure what it freed; about 5 B by estimate',
    entry: { ...result, outcome: 'removed', expectedBytes: 5 },
  },
  {
    is: 'removed: 5 B freed on imagefs as measured, 6 B expected',
    entry: {
      ...result,
      outcome: 'removed',
      expectedBytes: 6,
      measured: { filesystem: 'imagefs', beforeBytes: '5', afterBytes: '10' },
    },
  },
  {
    is: 'removed: what it freed is not measurable, since something else filled the disk meanwhile; about 7 B by estimate',
    entry: {
      ...result,
      outcome: 'removed',
      expectedBytes: 7,
      measured: { filesystem: 'imagefs', beforeBytes: '10', afterBytes: '5' },
    },
  },
  {
    is: 'done: 2 removed; what it freed is not measurable, since something else filled the disk meanwhile; about 7 B by estimate',
    entry: {
      what: 'command-result',
      ...base,
      commandId: 'command-1',
      kind: 'image-removal',
      result: {
        outcome: 'done',
        removed: 2,
        notFound: 0,
        refused: 0,
        failed: 0,
        notNeeded: 0,
        notDone: 0,
        measured: { filesystem: 'imagefs', beforeBytes: '10', afterBytes: '5' },
        estimatedBytes: 7,
        targetReached: null,
      },
    },
  },
  {
    is: 'gone: not listed any more, and not removed by FleetGC',
    entry: { what: 'gone', ...base, commandOpen: false, otherInstance: false },
  },
  {
    is: 'gone: not listed any more; a command to remove it has no answer on the event log',
    entry: { what: 'gone', ...base, commandOpen: true, otherInstance: false },
  },
  {
    is: 'gone: not listed any more since the node was installed anew',
    entry: { what: 'gone', ...base, commandOpen: false, otherInstance: true },
  },
  {
    is: 'not seen: too many objects to publish, so nothing is decided, 3 times until 2026-01-01T00:01:00Z',
    entry: { what: 'not-seen', ...base, ...repeated, status: 'too-large', problems: [] },
  },
  {
    is: 'decided: image-gc: commands: 2 to go, about 7 B: disk full; the event log has no answer to its command',
    entry: {
      what: 'decision',
      ...base,
      ...repeated,
      ...decided,
      times: 1,
      outcome: 'commanded',
      reason: 'disk full',
      removals: 2,
      estimatedBytes: 7,
      answered: false,
      reclaim: null,
    },
  },
  {
    is: 'short: the target was not reached; space is held by 1 image in use 7 B',
    entry: {
      what: 'unrelieved',
      ...base,
      availableNow: null,
      holders: [{ reason: 'in-use', objects: 1, bytes: 7 }],
    },
  },
])('$is', ({ is, entry }) => {
  const { word, text } = entryText(entry);
  expect(`${word}: ${text}`).toBe(is);
});

test('facts in words: durations, times, sizes, ids in short', () => {
  const facts = { ageMs: 3_723_456, lastUsedMs: NOW, sizeBytes: 1_200, pinned: false, id: 'ab'.repeat(32) };

  expect(factsText(facts)).toBe(
    'age 1h2m3s, last used 2026-01-01T00:00:00Z, size 1.2 kB, pinned no, id abababababab',
  );
  expect(factsText({ dueAtMs: NOW })).toBe('due at 2026-01-01T00:00:00Z');
  expect(factsText({ lastUsedMs: null, other: null, list: '' })).toBe(
    'last used never, other unknown, list (none)',
  );
});

test('reasons are told in hours and gigabytes', () => {
  expect(reasonText('images that were unused for more than 864000000 ms go')).toBe(
    'images that were unused for more than 240h go',
  );
  expect(reasonText('used to 91%: at least 8600000000 bytes shall be available')).toBe(
    'used to 91%: at least 8.6 GB shall be available',
  );
  expect(reasonText('the 12 of them')).toBe('the 12 of them');
});

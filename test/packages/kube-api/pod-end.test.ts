import { describe, expect, test } from 'vitest';
import { readPodEnd, wantedLabels } from '../../../packages/kube-api/expiring.ts';
import { controllerOf, readMetadata, UNREADABLE } from '../../../packages/kube-api/metadata.ts';
import { MAX_LABELS } from '../../../schemas/events/label.ts';

const at = (minute: number): string => `2026-11-25T10:${String(minute).padStart(2, '0')}:00Z`;
const atMs = (minute: number): number => Date.UTC(2026, 10, 25, 10, minute);
const terminated = (minute: number | null, exitCode = 0) => ({
  state: { terminated: { exitCode, finishedAt: minute === null ? null : at(minute) } },
});
const WAITING = { state: { waiting: { reason: 'PodInitializing' } } };
const RUNNING = { state: { running: { startedAt: at(1) } } };
const disrupted = (minute: number, status = 'True') => [
  { type: 'DisruptionTarget', status, lastTransitionTime: at(minute) },
];
const written = (minute: number, subresource?: string) => ({ manager: 'x', time: at(minute), subresource });
const read = (status: object, metadata: object = {}) =>
  readPodEnd({
    metadata: { creationTimestamp: at(0), ...metadata },
    status: { phase: 'Failed', startTime: at(1), ...status },
  })?.ended;

test.each([
  ['Succeeded', undefined, 'Succeeded'],
  ['Failed', undefined, 'Failed'],
  ['Failed', 'DeadlineExceeded', 'Failed'],
  ['Failed', 'Evicted', 'Evicted'],
  ['Running', 'Evicted', undefined],
  ['Pending', undefined, undefined],
  ['', undefined, undefined],
])('[cluster S12] a pod in phase %j with reason %j has ended as %j', (phase, reason, state) => {
  expect(readPodEnd({ status: { phase, reason } })?.ended?.state).toBe(state);
});

test('what cannot be read is no pod, and one without a status goes on', () => {
  for (const none of [
    { status: { phase: 7 } },
    { status: { containerStatuses: [{ state: { terminated: 7 } }] } },
  ])
    expect(readPodEnd(none)).toBeNull();
  expect(readPodEnd({})).toEqual({ of: 'Pod', ended: null });
});

describe('[cluster S13] a pod ended', () => {
  test.each<[string, object, number | null]>([
    ['with the last of its containers', { containerStatuses: [terminated(5), terminated(7)] }, atMs(7)],
    [
      'with its sidecars, which are told among those that begin',
      { initContainerStatuses: [terminated(9)], containerStatuses: [terminated(5)] },
      atMs(9),
    ],
    [
      'with the one that failed before others could begin',
      { initContainerStatuses: [terminated(2), terminated(3, 1), WAITING], containerStatuses: [WAITING] },
      atMs(3),
    ],
    [
      'at a time that nobody knows, if others waited on after those that ran',
      { initContainerStatuses: [terminated(3)], containerStatuses: [WAITING] },
      null,
    ],
    [
      'at a time that nobody knows, if one waited on beside one that failed',
      { containerStatuses: [terminated(3, 1), WAITING] },
      null,
    ],
    [
      'when it was disrupted, if a container waited on until then',
      { initContainerStatuses: [terminated(3)], containerStatuses: [WAITING], conditions: disrupted(6) },
      atMs(6),
    ],
    [
      'no earlier than it was disrupted',
      { containerStatuses: [terminated(5)], conditions: disrupted(6) },
      atMs(6),
    ],
    [
      'when it was disrupted, if a container does not say when',
      { containerStatuses: [terminated(5), terminated(null)], conditions: disrupted(6) },
      atMs(6),
    ],
    [
      'when it was disrupted, if nobody saw a container end',
      { containerStatuses: [RUNNING], conditions: disrupted(6) },
      atMs(6),
    ],
    ['at a time that nobody knows, if it has no containers, however long ago it began', {}, null],
    [
      'at a time that nobody knows, if a container does not say it',
      { containerStatuses: [terminated(5), terminated(null)] },
      null,
    ],
    ['at a time that nobody knows, if a container runs', { containerStatuses: [RUNNING] }, null],
    ['at a time that nobody knows, if no container ran', { containerStatuses: [WAITING] }, null],
    [
      'and a condition that is not true says nothing',
      { containerStatuses: [RUNNING], conditions: disrupted(6, 'False') },
      null,
    ],
  ])('%s', (_, status, expected) => {
    expect(read(status)?.atMs).toBe(expected);
  });

  test('when its status was written last, if it has no containers: a kubelet that does not let a pod in again forgets them', () => {
    const managedFields = [written(3, 'status'), written(6, 'status'), written(9), { manager: 'y' }, 7];
    expect(read({}, { managedFields })?.atMs).toBe(atMs(6));
    expect(read({ conditions: disrupted(4) }, { managedFields })?.atMs).toBe(atMs(4));
    for (const none of [[], [written(9)], null, 'x', [{ subresource: 'status', time: 'x' }]])
      expect(read({}, { managedFields: none })?.atMs).toBeNull();
  });

  test('not before it was made, by a node whose clock is a little late, and at no known time if it is far off', () => {
    const containerStatuses = [terminated(5)];
    const ended = (creationTimestamp: unknown) => read({ containerStatuses }, { creationTimestamp })?.atMs;
    expect(ended(at(7))).toBe(atMs(7));
    expect(ended(at(10))).toBe(atMs(10));
    expect(ended(at(11))).toBeNull();
    expect(ended(null)).toBe(atMs(5));
    const zero = { state: { terminated: { finishedAt: '1970-01-01T00:00:00Z' } } };
    expect(read({ containerStatuses: [terminated(5), zero] })?.atMs).toBeNull();
  });
});

test('[cluster S12] of labels those are read that rules ask for, and more than a fact tells are too many', () => {
  const labelled = (labels: unknown) => ({ metadata: { labels } });
  const wanted = new Set(['app', 'example.com/tier', 'constructor']);
  expect(wantedLabels(labelled({ app: 'ci', 'example.com/tier': '', other: 'x' }), wanted)).toEqual({
    app: 'ci',
    'example.com/tier': '',
  });
  for (const none of [undefined, null, {}, { other: 'x' }, { app: 7 }, { app: 'no value!' }, 'app'])
    expect(wantedLabels(labelled(none), wanted)).toBeNull();
  const many = Object.fromEntries(Array.from({ length: MAX_LABELS + 1 }, (_, index) => [`l${index}`, 'x']));
  expect(wantedLabels(labelled(many), new Set(Object.keys(many)))).toBe('too-many');
});

test('[cluster S9] a controller that cannot be read is one', () => {
  const owner = { apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x' };
  const of = (ownerReferences: object[]) =>
    controllerOf(
      readMetadata({ metadata: { name: 'a', uid: 'a', resourceVersion: '1', ownerReferences } })
        ?.ownerReferences ?? [],
    );
  expect(of([owner])).toBeNull();
  expect(of([owner, { ...owner, name: 'y', controller: true }])?.name).toBe('y');
  expect(of([{ ...owner, uid: 'x'.repeat(500), controller: true }])?.apiVersion).toBe(UNREADABLE);
  expect(of([{ ...owner, name: 'x'.repeat(500) }])?.apiVersion).toBe(UNREADABLE);
});

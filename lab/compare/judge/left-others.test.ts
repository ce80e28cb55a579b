import { describe, expect, test } from 'vitest';
import { ENDED_CERTIFICATE, VALID_CERTIFICATE } from '../../../test/fixtures/certificate.ts';
import { leftOfJobs, leftOfRequests } from './left-expiring.ts';
import { leftOfEndedPods, leftOfPods } from './left-pods.ts';
import type { Says, Times } from './says.ts';
import type { ObjectState } from './state.ts';

const NOW_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;

type SaysOf<Of extends Says['of']> = Extract<Says, { of: Of }>;
const BARE = { place: 'home', isDeleting: false, finalizers: [], references: [] } as const;
const stateOf = (...objects: readonly ObjectState[]) => new Map(objects.map((each) => [each.id, each]));

const node = (id: number, over: Partial<SaysOf<'node'>> = {}): ObjectState => ({
  ...BARE,
  id,
  kind: 'node',
  says: { of: 'node', ready: 'True', taints: [], ...over },
});
const OUT = { ready: 'False', taints: ['node.kubernetes.io/out-of-service'] };
const pod = (id: number, says: Partial<SaysOf<'pod'>>, over: Partial<ObjectState> = {}): ObjectState => ({
  ...BARE,
  id,
  kind: 'pod',
  says: {
    of: 'pod',
    phase: 'Running',
    reason: null,
    message: null,
    observedGeneration: null,
    conditions: [],
    nodeId: 1,
    graceSeconds: null,
    ...says,
  },
  ...over,
});
const DELETING = { isDeleting: true };

describe('pods', () => {
  test.each<[string, readonly ObjectState[], string | undefined]>([
    ['runs', [node(1), pod(2, {})], undefined],
    ['is deleted from a node that is ready', [node(1), pod(2, {}, DELETING)], undefined],
    ['is on a node out of service', [node(1, OUT), pod(2, {})], undefined],
    [
      'is deleted from one that is ready',
      [node(1, { ...OUT, ready: 'True' }), pod(2, {}, DELETING)],
      undefined,
    ],
    [
      'is deleted from one out of service',
      [node(1, OUT), pod(2, {}, DELETING)],
      'goes from a node out of service (cluster J5)',
    ],
    [
      'is deleted from one that does not say whether it is ready',
      [node(1, { ...OUT, ready: null }), pod(2, {}, DELETING)],
      'goes from a node out of service (cluster J5)',
    ],
    ['has no node any more', [pod(2, {})], 'goes as its node did (cluster J8)'],
    ['never had one', [pod(2, { nodeId: null })], undefined],
    [
      'is deleted and never had one',
      [pod(2, { nodeId: null }, DELETING)],
      'goes without a node (cluster J9)',
    ],
    [
      'is held by finalizers alone',
      [pod(2, { phase: 'Failed', graceSeconds: 0 }, { ...DELETING, finalizers: ['x'] })],
      undefined,
    ],
    [
      'is held by finalizers before it was marked',
      [pod(2, { graceSeconds: 0 }, { ...DELETING, finalizers: ['x'] })],
      'goes as its node did (cluster J8)',
    ],
  ])('one that %s', (_, objects, what) => {
    expect(leftOfPods(stateOf(...objects)).map((left) => left.what)).toEqual(
      what === undefined ? [] : [what],
    );
  });

  const times = (createdAtMs: number): Pick<ObjectState, 'times'> => ({
    times: { createdAtMs, conditions: [], certificate: '' },
  });
  const left = (...objects: readonly ObjectState[]) =>
    leftOfEndedPods(1)(stateOf(...objects)).map(({ id }) => id);

  test('that ended go the evicted first, then by age, then by name, until so many are left', () => {
    const old = pod(3, { phase: 'Succeeded' }, times(1));
    const ten = pod(10, { phase: 'Succeeded' }, times(2));
    const nine = pod(9, { phase: '' }, times(2));
    const evicted = pod(4, { phase: 'Failed', reason: 'Evicted' }, times(9));
    expect(left(old, pod(5, {}, times(0)))).toEqual([]);
    expect(left(nine, ten, old)).toEqual([3, 10]);
    expect(left(nine, ten, old, evicted)).toEqual([4, 3, 10]);
  });
});

describe('Jobs', () => {
  const job = (
    ttlSeconds: number | null,
    agoMs: number | null,
    over: Partial<ObjectState> = {},
  ): ObjectState => ({
    ...BARE,
    id: 1,
    kind: 'job',
    says: { of: 'job', ttlSeconds, conditions: [] },
    times: {
      createdAtMs: 0,
      conditions: [{ type: 'Failed', status: 'True', atMs: agoMs === null ? null : NOW_MS - agoMs }],
      certificate: '',
    },
    ...over,
  });
  test.each<[string, ObjectState, boolean]>([
    ['past its TTL', job(10, 11_000), true],
    ['that soon will be', job(10, -1_000), true],
    ['that will be after the comparison', job(3_600, 0), false],
    ['without a TTL', job(null, HOUR_MS), false],
    ['that does not say when it ended', job(0, null), false],
    ['that is being deleted', job(0, 1, DELETING), false],
  ])('one %s', (_, state, isLeft) => {
    expect(leftOfJobs(stateOf(state), NOW_MS)).toHaveLength(isLeft ? 1 : 0);
  });
});

describe('certificate requests', () => {
  const request = (type: string, agoMs: number, pem = ''): ObjectState => {
    const conditions: Times['conditions'] = [{ type, status: 'True', atMs: NOW_MS - agoMs }];
    const certificate = Buffer.from(pem).toString('base64');
    const says = { of: 'certificateRequest', conditions: [], hasCertificate: pem !== '' } as const;
    return {
      ...BARE,
      id: 1,
      kind: 'certificateRequest',
      says,
      times: { createdAtMs: 0, conditions, certificate },
    };
  };
  const OLD_MS = HOUR_MS + 1;
  test.each<[string, ObjectState, boolean]>([
    ['denied long ago', request('Denied', OLD_MS), true],
    ['denied', request('Denied', HOUR_MS), false],
    ['that failed long ago', request('Failed', OLD_MS), true],
    ['approved long ago', request('Approved', OLD_MS), false],
    ['issued long ago', request('Approved', OLD_MS, VALID_CERTIFICATE), true],
    ['issued', request('Approved', 0, VALID_CERTIFICATE), false],
    ['whose certificate ended', request('Approved', 0, ENDED_CERTIFICATE), true],
    ['whose first ended', request('Approved', 0, `${ENDED_CERTIFICATE}\n${VALID_CERTIFICATE}`), true],
    ['whose second ended', request('Approved', 0, `${VALID_CERTIFICATE}\n${ENDED_CERTIFICATE}`), false],
    ['of which something else is said', request('Other', OLD_MS, ENDED_CERTIFICATE), false],
  ])('one %s', (_, state, isLeft) => {
    expect(leftOfRequests(stateOf(state), NOW_MS)).toHaveLength(isLeft ? 1 : 0);
  });
});

import { expect, test } from 'vitest';
import type { KubeletPod, PodListing } from '../../../packages/cri/kubelet/pod-source.ts';
import { cachePods, openKubeletPods } from '../../../services/node/managed-node.ts';

const pod = (uid: string, source: string): KubeletPod => ({
  uid,
  name: uid,
  namespace: 'default',
  phase: 'Running',
  deletionTimestamp: false,
  source,
  images: [`${uid}:1`],
  initContainers: [],
  finished: false,
  evicted: false,
});
const listing = (...pods: readonly KubeletPod[]): PodListing => ({ kubeletInstance: 'a', pods });

function answering(...answers: readonly (PodListing | Error)[]) {
  const left = [...answers];
  return {
    list: async () => {
      const answer = left.shift();
      if (answer === undefined || answer instanceof Error) throw answer ?? new Error('no more answers');
      return answer;
    },
  };
}

test('what the kubelet told last is remembered, and its answers are passed on', async () => {
  const answer = listing(pod('web', 'api'));
  const pods = cachePods(answering(answer), ['api']);

  expect(await pods.source?.list()).toBe(answer);
  expect(pods.wanted()?.map(({ uid }) => uid)).toEqual(['web']);
});

test('[C10, M5] until the configured kubelet told once, nobody knows what pods want', async () => {
  const pods = cachePods(answering(listing(pod('static', 'file')), listing(pod('web', 'api'))), ['api']);

  expect(pods.wanted()).toBeNull();
  await pods.source?.list();
  expect(pods.wanted()).toBeNull();
  await pods.source?.list();
  expect(pods.wanted()?.map(({ uid }) => uid)).toEqual(['web']);
});

test('a kubelet that falls silent takes nothing away', async () => {
  const pods = cachePods(answering(listing(pod('web', 'api')), new Error('connection refused')), ['api']);
  await pods.source?.list();

  await expect(pods.source?.list()).rejects.toThrow('connection refused');
  expect(pods.wanted()?.map(({ uid }) => uid)).toEqual(['web']);
});

test('an answer in which a source has not delivered adds to the last whole one', async () => {
  const pods = cachePods(
    answering(listing(pod('web', 'api')), listing(pod('static', 'file')), listing(pod('new', 'api'))),
    ['api'],
  );
  await pods.source?.list();
  await pods.source?.list();
  expect(pods.wanted()?.map(({ uid }) => uid)).toEqual(['web', 'static']);

  await pods.source?.list();
  expect(pods.wanted()?.map(({ uid }) => uid)).toEqual(['new']);
});

test('without the URL of a kubelet there is no source', () => {
  using pods = openKubeletPods({ podSources: ['api'] });

  expect(pods.source).toBeNull();
  expect(pods.wanted()).toEqual([]);
  expect(pods.now).toBeNull();
});

test('[A7] the pods of this moment are told by an answer in which every source has delivered, and by no other', async () => {
  const answers = [
    listing(pod('web', 'api')),
    listing(pod('static', 'file')),
    new Error('connection refused'),
  ];
  const pods = cachePods(answering(...answers), ['api']);

  expect((await pods.now?.())?.map(({ uid }) => uid)).toEqual(['web']);
  await expect(pods.now?.()).rejects.toMatchObject({ code: 'PODS_UNREADABLE' });
  await expect(pods.now?.()).rejects.toThrow('connection refused');
});

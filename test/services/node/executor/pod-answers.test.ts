import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { CommandItem, Removable } from '../../../../services/node/executor/checks.ts';
import { askForPods, MAX_PODS_AGE_MS, podReturnRefusal } from '../../../../services/node/executor/checks.ts';
import { containerRemoval, imageRemoval, logRemoval } from '../../../fixtures/command.ts';
import { completeListing } from '../../../fixtures/listing.ts';
import { dead, idle, image, later } from './support/looked.ts';

const itemOf = ([item]: readonly CommandItem[]): CommandItem => {
  if (item === undefined) throw new Error('a command has an item');
  return item;
};
const LOGS = itemOf(logRemoval(['default_web_pod-1']).items);
const NOW = later(0);

describe('the kubelet is asked', () => {
  test.each([
    { name: 'an image', item: itemOf(imageRemoval(['a']).items) },
    { name: 'a symlink', item: itemOf(logRemoval(['web.log']).items) },
    { name: 'a container of a pod that is not gone', item: itemOf(containerRemoval(['dead']).items) },
  ])('nothing for $name', async ({ item }) => {
    const nobody = (): Promise<never> => Promise.reject(new Error('nobody is to be asked'));
    expect(await askForPods(item, nobody, () => NOW)).toBeNull();
    expect(await askForPods(item, null, () => NOW)).toBeNull();
  });

  test('[A8] which pods there are for what goes because its pod is gone, and when it answered', async () => {
    let now = NOW;
    const podsNow = async () => {
      now = later(700);
      return [{ uid: 'pod-2' }, { uid: 'pod-3' }];
    };
    expect(await askForPods(LOGS, podsNow, () => now)).toEqual({
      uids: new Set(['pod-2', 'pod-3']),
      answeredAt: later(700),
    });
  });

  test('[A8] and where it does not answer, or is not known, that is told', async () => {
    const silent = async () => {
      throw new FleetGcError('PODS_UNREADABLE', 'connection refused');
    };
    expect(await askForPods(LOGS, silent, () => NOW)).toEqual({ problem: 'connection refused' });
    expect(await askForPods(LOGS, null, () => NOW)).toEqual({
      problem: 'this executor has no --kubelet-url to ask by',
    });
  });
});

describe('an object that goes because its pod was gone', () => {
  const directory = { kind: 'pod-log-directory', name: 'default_web_pod-1', podUid: 'pod-1' } as const;
  const ofPod1: readonly Removable[] = [
    directory,
    { kind: 'container', container: dead() },
    { kind: 'sandbox', sandbox: idle({ podUid: 'elsewhere' }) },
    { kind: 'sandbox', sandbox: idle({ podUid: 'pod-1', labels: {} }) },
  ];
  const knowing = (...uids: readonly string[]) => ({ uids: new Set(uids), answeredAt: NOW });
  const refusals = (
    asked: Parameters<typeof podReturnRefusal>[1],
    { listing = completeListing(), now = NOW } = {},
    objects = ofPod1,
  ) => objects.map((object) => podReturnRefusal(object, asked, listing, now));

  test('goes where nobody had to be asked, or the kubelet knows other pods alone', () => {
    expect(refusals(null)).toEqual(ofPod1.map(() => undefined));
    expect(refusals(knowing('pod-2'))).toEqual(ofPod1.map(() => undefined));
  });

  test('[K3, A8] stays where the kubelet knows its pod again', () => {
    const back = { reason: 'pod-is-back', message: 'the kubelet knows the pod pod-1 again' };
    expect(refusals(knowing('pod-2', 'pod-1'))).toEqual(ofPod1.map(() => back));
  });

  test('[K3, A8] stays where nobody can tell', () => {
    const message = 'whether its pod is still gone cannot be told: connection refused';
    const unknown = { reason: 'pods-unknown', message };
    expect(refusals({ problem: 'connection refused' })).toEqual(ofPod1.map(() => unknown));
  });

  test('[K3] stays where the runtime runs its pod by now', () => {
    const listing = completeListing({ containers: [dead({ id: 'new', state: 'running' })] });
    const runs = { reason: 'running', message: 'container new of the pod runs' };
    expect(refusals(knowing('pod-2'), { listing })).toEqual(ofPod1.map(() => runs));
  });

  test('[K3] stays where the runtime runs either of the two pods that its sandbox names', () => {
    const sandbox: Removable = { kind: 'sandbox', sandbox: idle({ podUid: 'pod-3' }) };
    for (const uid of ['pod-1', 'pod-3']) {
      const labels = { 'io.kubernetes.pod.uid': uid };
      const listing = completeListing({ containers: [dead({ id: 'new', state: 'running', labels })] });
      expect(refusals(knowing(), { listing }, [sandbox])).toMatchObject([{ reason: 'running' }]);
    }
  });

  test('[K3] goes by an answer of five seconds, and no longer', () => {
    expect(refusals(knowing(), { now: later(MAX_PODS_AGE_MS) }, [directory])).toEqual([undefined]);
    expect(refusals(knowing(), { now: later(MAX_PODS_AGE_MS + 1) }, [directory])).toEqual([
      {
        reason: 'pods-unknown',
        message:
          'whether its pod is still gone cannot be told: the kubelet said so 5001 ms ago; the runtime took too long to read since',
      },
    ]);
  });

  test('is none of those that have no pod', () => {
    const others: readonly Removable[] = [
      { kind: 'image', image: image() },
      { kind: 'log-symlink', name: 'web.log' },
    ];
    expect(refusals(knowing('pod-1'), {}, others)).toEqual([undefined, undefined]);
  });
});

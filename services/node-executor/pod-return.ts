import { toFleetGcError } from '../shared/errors.ts';
import type { KubeletPod } from '../shared/pod-source.ts';
import type { Refusal } from './results.ts';
import type { CommandItem, Removable } from './second-look.ts';

/** Rejects with `PODS_UNREADABLE` while it cannot be told which pods there are. */
export type PodsNow = () => Promise<readonly Pick<KubeletPod, 'uid'>[]>;

/**
 * Why an object stays that goes only because its pod was gone (G6, G23, H2, I3): the pod is there again, as a static pod is
 * that returns with the same UID, or nobody can tell. Asked after the runtime was listed, since the kubelet knows a pod
 * before it has a sandbox.
 */
export async function podReturnRefusal(
  item: CommandItem,
  object: Removable,
  podsNow: PodsNow | null,
): Promise<Refusal | undefined> {
  if (!restsOnGonePod(item)) return undefined;
  if (podsNow === null) return unknown('this executor has no --kubelet-url to ask by');
  const uids = podUidsOf(object);
  try {
    const back = (await podsNow()).find(({ uid }) => uids.includes(uid));
    return back && { reason: 'pod-is-back', message: `the kubelet knows the pod ${back.uid} again` };
  } catch (error) {
    return unknown(toFleetGcError(error).message);
  }
}

/** Logs of a pod go only when it is gone (I3). */
const restsOnGonePod = (item: CommandItem): boolean =>
  item.kind === 'pod-log-directory' || ('podGone' in item && item.podGone);

const unknown = (problem: string): Refusal => ({
  reason: 'pods-unknown',
  message: `whether its pod is still gone cannot be told: ${problem}`,
});

function podUidsOf(object: Removable): readonly (string | undefined)[] {
  switch (object.kind) {
    case 'image':
    case 'log-symlink':
      return [];
    case 'pod-log-directory':
      return [object.podUid];
    case 'container':
      return [object.container.labels[POD_UID_LABEL]];
    case 'sandbox':
      return [object.sandbox.labels[POD_UID_LABEL], object.sandbox.podUid];
  }
}

const POD_UID_LABEL = 'io.kubernetes.pod.uid';

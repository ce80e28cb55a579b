import type { Command } from '../../schemas/command.ts';
import { toFleetGcError } from '../shared/errors.ts';
import type { KubeletPod } from '../shared/pod-source.ts';
import type { Refusal } from './results.ts';
import type { CommandItem, Removable } from './second-look.ts';

/** Rejects with `PODS_UNREADABLE` while it cannot be told which pods there are. */
export type PodsNow = () => Promise<readonly Pick<KubeletPod, 'uid'>[]>;

/**
 * Why an object stays that goes only because its pod was gone (G6, G23, H2): the pod is there again, as a static pod is
 * that returns with the same UID, or nobody can tell. Asked after the runtime was listed, since the kubelet knows a pod
 * before it has a sandbox.
 */
export async function podReturnRefusal(
  command: Command,
  item: CommandItem,
  object: Removable,
  podsNow: PodsNow | null,
): Promise<Refusal | undefined> {
  if (command.kind === 'image-removal' || !('podGone' in item && item.podGone)) return undefined;
  if (podsNow === null) return unknown('this executor has no --kubelet-url to ask by');
  const uids = podUidsOf(object);
  try {
    const back = (await podsNow()).find(({ uid }) => uids.includes(uid));
    return back && { reason: 'pod-is-back', message: `the kubelet knows the pod ${back.uid} again` };
  } catch (error) {
    return unknown(toFleetGcError(error).message);
  }
}

const unknown = (problem: string): Refusal => ({
  reason: 'pods-unknown',
  message: `whether its pod is still gone cannot be told: ${problem}`,
});

function podUidsOf(object: Removable): readonly (string | undefined)[] {
  switch (object.kind) {
    case 'image':
      return [];
    case 'container':
      return [object.container.labels[POD_UID_LABEL]];
    case 'sandbox':
      return [object.sandbox.labels[POD_UID_LABEL], object.sandbox.podUid];
  }
}

const POD_UID_LABEL = 'io.kubernetes.pod.uid';

import type { KubeletPod } from '../../../../packages/cri/kubelet/pod-source.ts';
import type { CompleteListing } from '../../../../packages/cri/listing-types.ts';
import { toFleetGcError } from '../../../../packages/process/errors.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import type { Refusal } from '../results/results.ts';
import { activePod } from './pod-object-checks.ts';
import type { CommandItem, Removable } from './removable.ts';

/** Rejects with `PODS_UNREADABLE` while it cannot be told which pods there are. */
export type PodsNow = () => Promise<readonly Pick<KubeletPod, 'uid'>[]>;

/** So old the kubelet's answer may grow while the runtime is read. */
export const MAX_PODS_AGE_MS = 5_000;

/** The pods that the kubelet knew at `answeredAt`. */
interface PodsAnswer {
  readonly uids: ReadonlySet<string>;
  readonly answeredAt: Instant;
}

/** `null`: the object goes whatever its pod does, and nobody was asked. */
type PodsAsked = PodsAnswer | { readonly problem: string } | null;

/**
 * Asks for the pods where an object goes only because its pod was gone (G6, G23, H2, I3). Never rejects. Asked before the
 * runtime is, so that a kubelet that takes its time makes no fact about the runtime old.
 */
export async function askForPods(
  item: CommandItem,
  podsNow: PodsNow | null,
  now: () => Instant,
): Promise<PodsAsked> {
  if (!restsOnGonePod(item)) return null;
  if (podsNow === null) return { problem: 'this executor has no --kubelet-url to ask by' };
  try {
    const pods = await podsNow();
    return { uids: new Set(pods.map(({ uid }) => uid)), answeredAt: now() };
  } catch (error) {
    return { problem: toFleetGcError(error).message };
  }
}

/**
 * Why an object stays that goes only because its pod was gone: the pod is there again, as a static pod is that returns
 * with the same UID, or nobody can tell. A pod that returned after the kubelet was asked shows in the runtime.
 */
export function podReturnRefusal(
  object: Removable,
  asked: PodsAsked,
  listing: CompleteListing,
  now: Instant,
): Refusal | undefined {
  if (asked === null) return undefined;
  if ('problem' in asked) return unknown(asked.problem);
  const uids = podUidsOf(object);
  const back = uids.find((uid) => asked.uids.has(uid));
  if (back !== undefined)
    return { reason: 'pod-is-back', message: `the kubelet knows the pod ${back} again` };
  return (
    uids.map((uid) => activePod(uid, listing)).find((active) => active !== undefined) ?? tooOld(asked, now)
  );
}

function tooOld({ answeredAt }: PodsAnswer, now: Instant): Refusal | undefined {
  const ageMs = now.sinceBootMs - answeredAt.sinceBootMs;
  if (ageMs <= MAX_PODS_AGE_MS) return undefined;
  return unknown(`the kubelet said so ${ageMs} ms ago; the runtime took too long to read since`);
}

const restsOnGonePod = (item: CommandItem): boolean => 'podGone' in item && item.podGone;

const unknown = (problem: string): Refusal => ({
  reason: 'pods-unknown',
  message: `whether its pod is still gone cannot be told: ${problem}`,
});

function podUidsOf(object: Removable): readonly string[] {
  switch (object.kind) {
    case 'image':
    case 'log-symlink':
      return [];
    case 'pod-log-directory':
      return [object.podUid];
    case 'container':
      return uidIn(object.container.labels);
    case 'sandbox':
      return [...uidIn(object.sandbox.labels), object.sandbox.podUid];
  }
}

const uidIn = ({ 'io.kubernetes.pod.uid': uid }: Readonly<Record<string, string>>): readonly string[] =>
  uid === undefined ? [] : [uid];

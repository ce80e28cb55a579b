import { z } from 'zod';
import type { PodEndFacts } from '../../../schemas/events/expiry.ts';
import { ApiTime } from './times.ts';

const ContainerStatus = z.object({
  state: z
    .object({
      running: z.unknown().optional(),
      terminated: z.object({ finishedAt: ApiTime }).nullish(),
    })
    .nullish(),
});
type ContainerStatus = z.infer<typeof ContainerStatus>;

const Pod = z.object({
  status: z
    .object({
      phase: z.string().nullish(),
      reason: z.string().nullish(),
      startTime: ApiTime,
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), lastTransitionTime: ApiTime }))
        .nullish(),
      initContainerStatuses: z.array(ContainerStatus).nullish(),
      containerStatuses: z.array(ContainerStatus).nullish(),
    })
    .nullish(),
});
type PodStatus = NonNullable<z.infer<typeof Pod>['status']>;

/** How and when a pod ended; `null` for what is no pod, or cannot be read. */
export function readPodEnd(value: unknown): PodEndFacts | null {
  const parsed = Pod.safeParse(value);
  if (!parsed.success) return null;
  const status = parsed.data.status ?? null;
  const state = status && stateOf(status);
  return { of: 'Pod', ended: status && state && { state, atMs: endedAtMs(status) } };
}

function stateOf({ phase, reason }: PodStatus): NonNullable<PodEndFacts['ended']>['state'] | null {
  if (phase === 'Succeeded') return 'Succeeded';
  if (phase !== 'Failed') return null;
  return reason === 'Evicted' ? 'Evicted' : 'Failed';
}

/**
 * When the last of its containers ended, and no earlier than somebody disrupted it. A pod that a kubelet did not let in has no
 * containers, and ended when it was first seen there. `null` where a container does not say when, and nobody disrupted the pod
 * (cluster S13).
 */
function endedAtMs({ conditions, startTime, ...status }: PodStatus): number | null {
  const isDisrupted = (type: string, is: string): boolean => type === 'DisruptionTarget' && is === 'True';
  const disrupted = conditions?.find((each) => isDisrupted(each.type, each.status));
  const disruptedAtMs = disrupted?.lastTransitionTime ?? null;
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  if (containers.length === 0) return disruptedAtMs ?? startTime;
  const ends = containers.filter(hasBegun).map(({ state }) => state?.terminated?.finishedAt ?? null);
  if (ends.length === 0 || ends.includes(null)) return disruptedAtMs;
  return Math.max(...ends.filter((each) => each !== null), disruptedAtMs ?? 0);
}

/** One that only waits never ran, and ended with the others. */
const hasBegun = ({ state }: ContainerStatus): boolean =>
  (state?.running ?? null) !== null || (state?.terminated ?? null) !== null;

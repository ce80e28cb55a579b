import { z } from 'zod';
import type { PodEndFacts } from '../../../schemas/events/expiry.ts';
import { ApiTime } from './times.ts';

const ContainerStatus = z.object({
  state: z
    .object({
      running: z.unknown().optional(),
      terminated: z.object({ finishedAt: ApiTime, exitCode: z.int().nullish().catch(null) }).nullish(),
    })
    .nullish(),
});
type ContainerStatus = z.infer<typeof ContainerStatus>;

/** Who wrote what of an object, and when by the API server's clock. */
const WrittenBy = z.object({ time: ApiTime, subresource: z.string().nullish() });

const Pod = z.object({
  metadata: z
    .object({
      creationTimestamp: ApiTime,
      managedFields: z.array(WrittenBy.nullable().catch(null)).catch([]),
    })
    .nullish()
    .catch(null),
  status: z
    .object({
      phase: z.string().nullish(),
      reason: z.string().nullish(),
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), lastTransitionTime: ApiTime }))
        .nullish(),
      initContainerStatuses: z.array(ContainerStatus).nullish(),
      containerStatuses: z.array(ContainerStatus).nullish(),
    })
    .nullish(),
});
type PodStatus = NonNullable<z.infer<typeof Pod>['status']>;
type ContainerStatuses = Pick<PodStatus, 'initContainerStatuses' | 'containerStatuses'>;
type PodMetadata = NonNullable<z.infer<typeof Pod>['metadata']>;

/** How and when a pod ended; `null` for what is no pod, or cannot be read. */
export function readPodEnd(value: unknown): PodEndFacts | null {
  const parsed = Pod.safeParse(value);
  if (!parsed.success) return null;
  const status = parsed.data.status ?? null;
  const state = status && stateOf(status);
  const atMs = status && endedAtMs(status, parsed.data.metadata ?? null);
  return { of: 'Pod', ended: status && state && { state, atMs } };
}

function stateOf({ phase, reason }: PodStatus): NonNullable<PodEndFacts['ended']>['state'] | null {
  if (phase === 'Succeeded') return 'Succeeded';
  if (phase !== 'Failed') return null;
  return reason === 'Evicted' ? 'Evicted' : 'Failed';
}

/**
 * When the last of its containers ended, and no earlier than somebody disrupted it. A pod that a kubelet did not let in has no
 * containers; one that it did not let in again after a restart has none either, and what it says of its start is of long before. Such
 * a pod ended no later than its status was written last. `null` where a container does not say when, or waited on, and nobody disrupted
 * the pod (cluster S13).
 */
function endedAtMs({ conditions, ...status }: PodStatus, metadata: PodMetadata | null): number | null {
  const isDisrupted = (type: string, is: string): boolean => type === 'DisruptionTarget' && is === 'True';
  const disrupted = conditions?.find((each) => isDisrupted(each.type, each.status));
  const disruptedAtMs = disrupted?.lastTransitionTime ?? null;
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  if (containers.length === 0) return disruptedAtMs ?? statusWrittenAtMs(metadata);
  const ends = containers
    .filter(hasBegun)
    .map(({ state }) => believed(state?.terminated?.finishedAt ?? null, metadata));
  if (ends.length === 0 || ends.includes(null) || hasWaitedOn(status)) return disruptedAtMs;
  return Math.max(...ends.filter((each) => each !== null), disruptedAtMs ?? 0);
}

function statusWrittenAtMs(metadata: PodMetadata | null): number | null {
  const times = (metadata?.managedFields ?? []).flatMap((each) =>
    each?.subresource === 'status' && each.time !== null ? [each.time] : [],
  );
  return times.length === 0 ? null : Math.max(...times);
}

/** So late the clock of a node may be. */
const LATE_CLOCK_MS = 300_000;

/** The clock of its node says when a container ended, and that of the API server when its pod was made: nothing ends before that. */
function believed(atMs: number | null, metadata: PodMetadata | null): number | null {
  const madeAtMs = metadata?.creationTimestamp ?? null;
  if (atMs === null || madeAtMs === null) return atMs;
  return atMs < madeAtMs - LATE_CLOCK_MS ? null : Math.max(atMs, madeAtMs);
}

/** What waits after those that ran did so until the pod ended, unless one failed that had to succeed before. */
const hasWaitedOn = ({ initContainerStatuses, containerStatuses }: ContainerStatuses): boolean => {
  const first = initContainerStatuses ?? [];
  const hasFailed = first.some(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  return !hasFailed && [...first, ...(containerStatuses ?? [])].some((each) => !hasBegun(each));
};

/** One that only waits never ran. */
const hasBegun = ({ state }: ContainerStatus): boolean =>
  (state?.running ?? null) !== null || (state?.terminated ?? null) !== null;

import { z } from 'zod';
import { ApiTime } from './times.ts';

/** What rules about pods read of a pod beside its metadata. */
export interface PodFacts {
  /** Empty where the pod has none. */
  readonly phase: string;
  readonly isEvicted: boolean;
  /** Empty for a pod that is bound to no node. */
  readonly nodeName: string;
  readonly createdAtMs: number;
  /** Since when it has been bound to its node; `null` where the pod does not say so. */
  readonly boundAtMs: number | null;
  /** What is left to it while it is being deleted. */
  readonly graceSeconds: number | null;
}

const MAX_PHASE_LENGTH = 64;
const MAX_NODE_NAME_LENGTH = 253;

const Pod = z.object({
  metadata: z.object({
    creationTimestamp: ApiTime,
    deletionGracePeriodSeconds: z.int().nonnegative().nullish(),
  }),
  spec: z.object({ nodeName: z.string().max(MAX_NODE_NAME_LENGTH).nullish() }).nullish(),
  status: z
    .object({
      phase: z.string().max(MAX_PHASE_LENGTH).nullish(),
      reason: z.string().nullish(),
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), lastTransitionTime: ApiTime }))
        .nullish(),
    })
    .nullish(),
});

/** `null` where a part of it is not as pods have it: nothing may be concluded from it. */
export function readPod(value: unknown): PodFacts | null {
  const parsed = Pod.safeParse(value);
  if (!parsed.success) return null;
  const { metadata, spec, status } = parsed.data;
  const phase = status?.phase ?? '';
  const nodeName = spec?.nodeName ?? '';
  if (metadata.creationTimestamp === null || !phase.isWellFormed() || !nodeName.isWellFormed()) return null;
  const bound = status?.conditions?.find((each) => each.type === 'PodScheduled' && each.status === 'True');
  return {
    phase: interned(phase),
    isEvicted: phase === 'Failed' && status?.reason === 'Evicted',
    nodeName,
    createdAtMs: metadata.creationTimestamp,
    boundAtMs: bound?.lastTransitionTime ?? null,
    graceSeconds: metadata.deletionGracePeriodSeconds ?? null,
  };
}

const PHASES = ['', 'Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'];

/** One text for all pods of a phase: there may be a hundred thousand. */
const interned = (phase: string): string => PHASES.find((one) => one === phase) ?? phase;

import { z } from 'zod';

/** What a decision about a pod needs beside its metadata. */
export interface PodDetails {
  readonly of: 'pod';
  /** Empty where the pod has none. */
  readonly phase: string;
  readonly isEvicted: boolean;
  /** Empty for a pod that is bound to no node. */
  readonly nodeName: string;
  readonly createdMs: number;
  /** Since when it has been bound to its node; `null` where the pod does not say so. */
  readonly boundMs: number | null;
  /** What is left to it while it is being deleted. */
  readonly graceSeconds: number | null;
}

const MAX_PHASE_LENGTH = 64;
const MAX_NODE_NAME_LENGTH = 253;

const Time = z.string().max(64);
const Pod = z.object({
  metadata: z.object({
    creationTimestamp: Time,
    deletionGracePeriodSeconds: z.int().nonnegative().nullish(),
  }),
  spec: z.object({ nodeName: z.string().max(MAX_NODE_NAME_LENGTH).nullish() }).nullish(),
  status: z
    .object({
      phase: z.string().max(MAX_PHASE_LENGTH).nullish(),
      reason: z.string().nullish(),
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), lastTransitionTime: Time.nullish() }))
        .nullish(),
    })
    .nullish(),
});

/** `null` where a part of it is not as pods have it. */
export function readPodDetails(object: unknown): PodDetails | null {
  const parsed = Pod.safeParse(object);
  if (!parsed.success) return null;
  const { metadata, spec, status } = parsed.data;
  const createdMs = Date.parse(metadata.creationTimestamp);
  const phase = status?.phase ?? '';
  const nodeName = spec?.nodeName ?? '';
  if (Number.isNaN(createdMs) || !phase.isWellFormed() || !nodeName.isWellFormed()) return null;
  const bound = status?.conditions?.find((each) => each.type === 'PodScheduled' && each.status === 'True');
  const boundMs = Date.parse(bound?.lastTransitionTime ?? '');
  return {
    of: 'pod',
    phase: interned(phase),
    isEvicted: phase === 'Failed' && status?.reason === 'Evicted',
    nodeName,
    createdMs,
    boundMs: Number.isNaN(boundMs) ? null : boundMs,
    graceSeconds: metadata.deletionGracePeriodSeconds ?? null,
  };
}

const PHASES = ['', 'Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'];

/** One text for all pods of a phase: there may be a hundred thousand. */
const interned = (phase: string): string => PHASES.find((one) => one === phase) ?? phase;

import { z } from 'zod';
import { ApiTime } from './metadata.ts';

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

/** What rules about pods read of a node. */
export interface NodeFacts {
  readonly isReady: boolean;
  /** Somebody says by a taint that it is shut down and does not come back by itself. */
  readonly isOutOfService: boolean;
  readonly createdAtMs: number | null;
}

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

const Node = z.object({
  metadata: z.object({ creationTimestamp: ApiTime }),
  spec: z.object({ taints: z.array(z.object({ key: z.string() })).nullish() }).nullish(),
  status: z
    .object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })).nullish() })
    .nullish(),
});

/** `null` where a part of it is not as nodes have it: the node is there, and nothing else is known of it. */
export function readNode(value: unknown): NodeFacts | null {
  const parsed = Node.safeParse(value);
  if (!parsed.success) return null;
  const { metadata, spec, status } = parsed.data;
  return {
    isReady: (status?.conditions ?? []).some((each) => each.type === 'Ready' && each.status === 'True'),
    isOutOfService: (spec?.taints ?? []).some(({ key }) => key === OUT_OF_SERVICE),
    createdAtMs: metadata.creationTimestamp,
  };
}

/** All of the status of a pod that is ever written. What limits an account allows it these. */
export const POD_STATUS_FIELDS = ['phase', 'observedGeneration', 'conditions'] as const;

export type WrittenPodStatus = Partial<Readonly<Record<(typeof POD_STATUS_FIELDS)[number], unknown>>>;

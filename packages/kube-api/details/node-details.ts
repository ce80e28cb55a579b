import { z } from 'zod';

/** What a decision about the pods of a node needs beside its metadata. */
export interface NodeDetails {
  readonly of: 'node';
  readonly isReady: boolean;
  /** Somebody says by a taint that it is shut down and does not come back by itself. */
  readonly isOutOfService: boolean;
  readonly createdMs: number;
}

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

const Node = z.object({
  metadata: z.object({ creationTimestamp: z.string().max(64) }),
  spec: z.object({ taints: z.array(z.object({ key: z.string() })).nullish() }).nullish(),
  status: z
    .object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })).nullish() })
    .nullish(),
});

/** `null` where a part of it is not as nodes have it. */
export function readNodeDetails(object: unknown): NodeDetails | null {
  const parsed = Node.safeParse(object);
  if (!parsed.success) return null;
  const { metadata, spec, status } = parsed.data;
  const createdMs = Date.parse(metadata.creationTimestamp);
  if (Number.isNaN(createdMs)) return null;
  return {
    of: 'node',
    isReady: (status?.conditions ?? []).some((each) => each.type === 'Ready' && each.status === 'True'),
    isOutOfService: (spec?.taints ?? []).some(({ key }) => key === OUT_OF_SERVICE),
    createdMs,
  };
}

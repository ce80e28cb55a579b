import { z } from 'zod';
import { ApiTime } from './times.ts';

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

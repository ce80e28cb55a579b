import { z } from 'zod';
import { wholeForm } from '../../packages/kube-api/form.ts';
import { type ObjectMetadata, readMetadata } from '../../packages/kube-api/metadata.ts';
import { PolicyObjectStatus } from '../../schemas/policy/policy-object.ts';

/** A policy as it lies in Kubernetes. */
export interface PolicyObject extends ObjectMetadata {
  /** Changes with the spec. */
  readonly generation: number;
  /** As people wrote it; `null` where it is larger or deeper than any policy. */
  readonly spec: object | null;
  /** `null` where none was told, or one that another release told. */
  readonly status: PolicyObjectStatus | null;
  /** What stands there as status, be it ours or not: all of it is replaced. */
  readonly statusAsRead: object;
}

const Fields = z.object({
  metadata: z.object({ generation: z.int().nonnegative().default(0) }),
  spec: z.looseObject({}).optional(),
  status: z.looseObject({}).optional(),
});

/** The deepest list of a policy lies in a section of it. */
const MOST_LEVELS = 4;

/** So that nothing that walks through a value walks for ever. */
const isShallow = (value: unknown, levels = MOST_LEVELS): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1)));

export const POLICY_FORM = wholeForm((value): PolicyObject | null => {
  const metadata = readMetadata(value);
  const { data } = Fields.safeParse(value);
  if (metadata === null || data === undefined) return null;
  const { spec = {}, status = {} } = data;
  return {
    ...metadata,
    generation: data.metadata.generation,
    spec: isShallow(spec) ? spec : null,
    status: PolicyObjectStatus.safeParse(status).data ?? null,
    statusAsRead: status,
  };
});

import { z } from 'zod';
import { ApiTime } from '../../../packages/kube-api/metadata.ts';
import type { KindId } from '../history/kinds.ts';

/** What an object says of itself beside its metadata, in words that are the same in all runs. */
export type Says =
  | {
      readonly of: 'pod';
      readonly phase: string;
      readonly reason: string | null;
      readonly message: string | null;
      readonly observedGeneration: number | null;
      readonly conditions: readonly Condition[];
      /** The number of its node; `null` for none. */
      readonly nodeId: number | null;
      readonly graceSeconds: number | null;
    }
  | { readonly of: 'node'; readonly ready: string | null; readonly taints: readonly string[] }
  | {
      readonly of: 'job';
      readonly ttlSeconds: number | null;
      readonly conditions: readonly Pick<Condition, 'type' | 'status'>[];
    }
  | {
      readonly of: 'certificateRequest';
      readonly conditions: readonly Pick<Condition, 'type' | 'status'>[];
      readonly hasCertificate: boolean;
    };

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string | null;
  readonly message: string | null;
  readonly observedGeneration: number | null;
}

/** What runs do not share. */
export interface Times {
  readonly createdAtMs: number | null;
  /** Since when it has its first condition of each type and status. */
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly atMs: number | null;
  }[];
  /** Base64. */
  readonly certificate: string;
}

const word = z
  .string()
  .nullish()
  .transform((text) => text ?? null);
const count = z
  .int()
  .nullish()
  .transform((value) => value ?? null);
const WholeObject = z.object({
  metadata: z.object({ creationTimestamp: ApiTime, deletionGracePeriodSeconds: count }),
  spec: z
    .object({
      nodeName: word,
      taints: z.array(z.object({ key: z.string() })).nullish(),
      ttlSecondsAfterFinished: count,
    })
    .optional(),
  status: z
    .object({
      phase: word,
      reason: word,
      message: word,
      observedGeneration: count,
      conditions: z
        .array(
          z.object({
            type: z.string(),
            status: z.string(),
            reason: word,
            message: word,
            observedGeneration: count,
            lastTransitionTime: ApiTime,
            lastUpdateTime: ApiTime,
          }),
        )
        .nullish(),
      certificate: word,
    })
    .optional(),
});
type Whole = z.infer<typeof WholeObject>;

/** `null` for a kind of which metadata is all that matters. `nodeIdOf`: the number of a node by its name. */
export function readSays(
  kind: KindId,
  object: unknown,
  nodeIdOf: NodeIdOf,
): { readonly says: Says; readonly times: Times } | null {
  const whole = WholeObject.parse(object);
  const says = saysOf(kind, whole, nodeIdOf);
  return says && { says, times: timesOf(whole) };
}

type NodeIdOf = (name: string) => number | null;

function saysOf(kind: KindId, whole: Whole, nodeIdOf: NodeIdOf): Says | null {
  switch (kind) {
    case 'pod':
      return podSays(whole, nodeIdOf);
    case 'node':
      return {
        of: 'node',
        ready: typesOf(whole).find(({ type }) => type === 'Ready')?.status ?? null,
        taints: (whole.spec?.taints ?? []).map(({ key }) => key).toSorted(),
      };
    case 'job':
      return {
        of: 'job',
        ttlSeconds: whole.spec?.ttlSecondsAfterFinished ?? null,
        conditions: typesOf(whole),
      };
    case 'certificateRequest':
      return {
        of: 'certificateRequest',
        conditions: typesOf(whole),
        hasCertificate: Boolean(whole.status?.certificate),
      };
    default:
      return null;
  }
}

const typesOf = ({ status }: Whole): readonly Pick<Condition, 'type' | 'status'>[] =>
  (status?.conditions ?? []).map(({ type, status: is }) => ({ type, status: is }));

function podSays({ metadata, spec, status }: Whole, nodeIdOf: NodeIdOf): Says {
  const { phase = null, reason = null, message = null, observedGeneration = null } = status ?? {};
  return {
    of: 'pod',
    phase: phase ?? '',
    reason,
    message,
    observedGeneration,
    conditions: (status?.conditions ?? [])
      .map(({ lastTransitionTime: _, lastUpdateTime: __, ...condition }) => condition)
      .toSorted((a, b) => (a.type < b.type ? -1 : 1)),
    nodeId: spec?.nodeName ? nodeIdOf(spec.nodeName) : null,
    graceSeconds: metadata.deletionGracePeriodSeconds,
  };
}

const timesOf = ({ metadata, status }: Whole): Times => ({
  createdAtMs: metadata.creationTimestamp,
  conditions: (status?.conditions ?? []).map(({ type, status: is, ...times }) => ({
    type,
    status: is,
    atMs: times.lastUpdateTime ?? times.lastTransitionTime,
  })),
  certificate: status?.certificate ?? '',
});

import { z } from 'zod';
import type { ApiKind } from '../../../../packages/kube-api/resources.ts';
import type { ApiObject } from '../../../sim/api-server/objects.ts';
import type { TrueObject, TrueReference } from '../truth.ts';

const Reference = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  blockOwnerDeletion: z.boolean().default(false),
});
const Seen = z.object({
  metadata: z.object({ annotations: z.record(z.string(), z.string()).default({}) }),
  spec: z.object({ ttlSecondsAfterFinished: z.number().optional() }).default({}),
  status: z
    .object({
      phase: z.string().optional(),
      conditions: z.array(z.object({ type: z.string(), lastTransitionTime: z.string() })).default([]),
    })
    .default({ conditions: [] }),
});

export const KEEP = 'fleetgc.io/keep';
const ENDED: readonly string[] = ['Succeeded', 'Failed'];

/** Read apart from how the product reads it. */
export function trueObject({ group, kind, namespaced }: ApiKind, object: ApiObject): TrueObject {
  const { metadata, spec, status } = Seen.parse(object);
  const { name, namespace = '', uid, resourceVersion, deletionTimestamp, finalizers } = object.metadata;
  return {
    group,
    kind,
    namespace: namespaced ? namespace : '',
    name,
    uid,
    version: resourceVersion,
    isDeleting: deletionTimestamp !== undefined,
    finalizers,
    references: object.metadata.ownerReferences.map(referenceOf),
    isKept: KEEP in metadata.annotations,
    endsAtMs: endOf(spec.ttlSecondsAfterFinished, status.conditions),
    isEnded: kind === 'Pod' && ENDED.includes(status.phase ?? ''),
  };
}

function referenceOf(written: object): TrueReference {
  const { apiVersion, kind, name, uid, blockOwnerDeletion } = Reference.parse(written);
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  return { group, kind, name, uid, blocks: blockOwnerDeletion };
}

function endOf(
  ttlSeconds: number | undefined,
  conditions: readonly { readonly type: string; readonly lastTransitionTime: string }[],
): number | null {
  const ended = conditions.find(({ type }) => type === 'Complete' || type === 'Failed');
  if (ttlSeconds === undefined || ended === undefined) return null;
  return Date.parse(ended.lastTransitionTime) + ttlSeconds * 1_000;
}

import { z } from 'zod';
import { METADATA_FORM, type ObjectForm, wholeForm } from '../../../../packages/kube-api/form.ts';
import { type ObjectMetadata, readMetadata } from '../../../../packages/kube-api/metadata.ts';

/** An object with what reports read of it; the rest of it is not kept. */
export interface SeenObject extends ObjectMetadata {
  readonly createdAt: string | null;
  /** By the reader of its kind; `null` where that reads nothing. */
  readonly facts: Facts | null;
}

/** What the API server writes about a volume, a Job, and so on, in one form: reports know which fields their kind has. */
export const Facts = z.object({
  spec: z
    .object({
      claimRef: z.object({ namespace: z.string().default(''), name: z.string().default('') }).nullish(),
      persistentVolumeReclaimPolicy: z.string().nullish(),
      successfulJobsHistoryLimit: z.int().nonnegative().nullish(),
      failedJobsHistoryLimit: z.int().nonnegative().nullish(),
      renewTime: z.string().max(64).nullish(),
      leaseDurationSeconds: z.int().nonnegative().nullish(),
      holderIdentity: z.string().nullish(),
    })
    .nullish(),
  status: z
    .object({
      phase: z.string().nullish(),
      startTime: z.string().max(64).nullish(),
      lastPhaseTransitionTime: z.string().max(64).nullish(),
      conditions: z
        .array(
          z.object({
            type: z.string(),
            status: z.string(),
            lastTransitionTime: z.string().max(64).nullish(),
            lastHeartbeatTime: z.string().max(64).nullish(),
          }),
        )
        .max(1_000)
        .nullish(),
    })
    .nullish(),
});
export type Facts = z.infer<typeof Facts>;

const Created = z.object({ metadata: z.object({ creationTimestamp: z.string().max(64).nullish() }) });

const seen = (value: unknown, facts: Facts | null): SeenObject | null => {
  const metadata = readMetadata(value);
  if (metadata === null) return null;
  const created = Created.safeParse(value);
  return { ...metadata, createdAt: created.data?.metadata.creationTimestamp ?? null, facts };
};

/** Metadata alone: what Secrets hold is never asked for. */
export const metadataOf = (onObject: (object: SeenObject) => void): ObjectForm<SeenObject> => ({
  ...METADATA_FORM,
  read: (value) => {
    const object = seen(value, null);
    if (object !== null) onObject(object);
    return object;
  },
});

/** Whole objects, of which facts are kept. */
export const WITH_FACTS = wholeForm((value) => {
  const facts = Facts.safeParse(value);
  return seen(value, facts.success ? facts.data : null);
});

/** Whole objects, of which all texts are told and none is kept: whatever has the name of an object may name it. */
export const withTexts = (onText: (namespace: string, text: string) => void): ObjectForm<SeenObject> =>
  wholeForm((value) => {
    const object = seen(value, null);
    if (object !== null) for (const text of textsIn(value)) onText(object.namespace, text);
    return object;
  });

/** No name of an object is longer. */
const MAX_NAME_LENGTH = 253;

function* textsIn(value: unknown): Iterable<string> {
  const left = [value];
  for (let each = left.pop(); each !== undefined; each = left.pop()) {
    if (typeof each === 'string' && each.length <= MAX_NAME_LENGTH) yield each;
    if (typeof each === 'object' && each !== null) left.push(...Object.values(each));
  }
}

import { z } from 'zod';
import { kindName, type ServedKind } from '../../../schemas/events/cluster-objects.ts';
import type { ExpiryFacts } from '../../../schemas/events/expiry.ts';
import { METADATA_FORM, type ObjectForm, wholeForm } from '../form.ts';
import type { ObjectMetadata } from '../metadata.ts';
import { readCertificateRequest } from './certificate-request.ts';
import { readJob } from './job.ts';
import { type Annotations, timeAnnotations } from './time-annotations.ts';
import { ApiTime } from './times.ts';

/** What rules about time read of an object. */
export interface Expiring {
  /** `null` for an object that does not say when it was created. */
  readonly createdAtMs: number | null;
  readonly facts: ExpiryFacts;
  /** Not there where the object has none of them. */
  readonly annotations?: Annotations;
}

/** Kinds that the control plane deletes by time, with what is read of each (cluster K, L). */
const READERS: Readonly<Record<string, (value: unknown) => ExpiryFacts | null>> = {
  'batch/Job': readJob,
  'certificates.k8s.io/CertificateSigningRequest': readCertificateRequest,
  'certificates.k8s.io/PodCertificateRequest': () => ({ of: 'PodCertificateRequest' }),
};

const Created = z.object({ metadata: z.object({ creationTimestamp: ApiTime }) });

type ExpiringKind = Pick<ServedKind, 'group' | 'kind'>;

const factsReader = (kind: ExpiringKind): ((value: unknown) => ExpiryFacts | null) | undefined => {
  const name = kindName(kind);
  return Object.hasOwn(READERS, name) ? READERS[name] : undefined;
};

/** Whether more than metadata tells when the time of such an object is over. */
export const isTimedByState = (kind: ExpiringKind): boolean => factsReader(kind) !== undefined;

/** What rules about time go by in an object of this kind; `null` for one of which nothing says when its time is over. */
export function readExpiring(kind: ExpiringKind, value: unknown): Expiring | null {
  const annotations = timeAnnotations(value);
  const facts = factsReader(kind)?.(value) ?? (annotations === null ? null : { of: 'object' });
  return (
    facts && {
      createdAtMs: Created.safeParse(value).data?.metadata.creationTimestamp ?? null,
      facts,
      ...(annotations !== null && { annotations }),
    }
  );
}

/** An object with what rules about time read of it; `null` where that is beyond all bounds, or nothing: then it is kept. */
export interface ExpiringObject extends ObjectMetadata {
  readonly expiring: Expiring | null;
}

/** In which form one object is read for rules about time. */
export function expiringForm(kind: ExpiringKind): ObjectForm<ExpiringObject> {
  const { accept, acceptList } = isTimedByState(kind) ? WHOLE : METADATA_FORM;
  return {
    accept,
    acceptList,
    read: (value) => {
      const object = METADATA_FORM.read(value);
      return object && { ...object, expiring: readExpiring(kind, value) };
    },
  };
}

const WHOLE = wholeForm(METADATA_FORM.read);

import { z } from 'zod';
import { kindName, type ServedKind } from '../../../schemas/events/cluster-objects.ts';
import type { ExpiryFacts } from '../../../schemas/events/expiry.ts';
import { METADATA_FORM, type ObjectForm, wholeForm } from '../form.ts';
import type { ObjectMetadata } from '../metadata.ts';
import { readCertificateRequest } from './certificate-request.ts';
import { readJob } from './job.ts';
import { ApiTime } from './times.ts';

/** What rules about time read of an object. */
export interface Expiring {
  /** `null` for an object that does not say when it was created. */
  readonly createdAtMs: number | null;
  readonly facts: ExpiryFacts;
}

/** Kinds that the control plane deletes by time, with what is read of each (cluster K, L). */
const READERS: Readonly<Record<string, (value: unknown) => ExpiryFacts | null>> = {
  'batch/Job': readJob,
  'certificates.k8s.io/CertificateSigningRequest': readCertificateRequest,
  'certificates.k8s.io/PodCertificateRequest': () => ({ of: 'PodCertificateRequest' }),
};

const Created = z.object({ metadata: z.object({ creationTimestamp: ApiTime }) });

/** Reads of whole objects of a kind what rules about time go by; `null` for kinds that no such rule knows. */
export function expiringReader(
  kind: Pick<ServedKind, 'group' | 'kind'>,
): ((value: unknown) => Expiring | null) | null {
  const name = kindName(kind);
  const read = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
  if (read === undefined) return null;
  return (value) => {
    const facts = read(value);
    return facts && { createdAtMs: Created.safeParse(value).data?.metadata.creationTimestamp ?? null, facts };
  };
}

/** An object with what rules about time read of it; `null` where that is beyond all bounds: then it is kept. */
export interface ExpiringObject extends ObjectMetadata {
  readonly expiring: Expiring | null;
}

/** In which form one object is read for rules about time; `null` for kinds that no such rule knows. */
export function expiringForm(kind: Pick<ServedKind, 'group' | 'kind'>): ObjectForm<ExpiringObject> | null {
  const read = expiringReader(kind);
  if (read === null) return null;
  return wholeForm((value) => {
    const object = METADATA_FORM.read(value);
    return object && { ...object, expiring: read(value) };
  });
}

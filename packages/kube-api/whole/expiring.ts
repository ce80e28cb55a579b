import { z } from 'zod';
import { kindName, type ServedKind } from '../../../schemas/events/cluster-objects.ts';
import type { ExpiryFacts } from '../../../schemas/events/expiry.ts';
import type { Labels } from '../../../schemas/events/label.ts';
import { METADATA_FORM, type ObjectForm, wholeForm } from '../form.ts';
import type { ObjectMetadata } from '../metadata.ts';
import { readCertificateRequest } from './certificate-request.ts';
import { readJob } from './job.ts';
import { wantedLabels } from './labels.ts';
import { readPodEnd } from './pod-end.ts';
import { type Annotations, timeAnnotations } from './time-annotations.ts';
import { ApiTime } from './times.ts';

/** What rules about time read of an object. */
export interface Expiring {
  /** `null` for an object that does not say when it was created. */
  readonly createdAtMs: number | null;
  readonly facts: ExpiryFacts;
  /** Not there where the object has none of them. */
  readonly annotations?: Annotations;
  /** Those that rules of the policy ask for; not there where the object has none of them. */
  readonly labels?: Labels;
}

/** What is read of a kind beside its metadata. */
interface StateReader {
  readonly read: (value: unknown) => ExpiryFacts | null;
  /** The control plane deletes such objects by time, whatever rules of a policy say. */
  readonly isCollected: boolean;
}

/** Kinds of which more than metadata tells when their time is over (cluster K, L, S12). */
const READERS: Readonly<Record<string, StateReader>> = {
  'batch/Job': { read: readJob, isCollected: true },
  'certificates.k8s.io/CertificateSigningRequest': { read: readCertificateRequest, isCollected: true },
  'certificates.k8s.io/PodCertificateRequest': {
    read: () => ({ of: 'PodCertificateRequest' }),
    isCollected: true,
  },
  Pod: { read: readPodEnd, isCollected: false },
};

const Created = z.object({ metadata: z.object({ creationTimestamp: ApiTime }) });

type ExpiringKind = Pick<ServedKind, 'group' | 'kind'>;

function readerOf(kind: ExpiringKind): StateReader | null {
  const name = kindName(kind);
  return Object.hasOwn(READERS, name) ? (READERS[name] ?? null) : null;
}

/** Labels that rules of a policy ask for in objects of a kind; `null` where rules ask for annotations alone. */
export type LabelsAsked = ReadonlySet<string> | null;

/** What rules about time go by in an object of this kind; `null` for one of which nothing says when its time is over. */
export function readExpiring(kind: ExpiringKind, value: unknown, asked: LabelsAsked): Expiring | null {
  const annotations = timeAnnotations(value);
  const facts = factsOf(kind, value, annotations !== null || asked !== null);
  if (facts === null) return null;
  const labels = asked && wantedLabels(value, asked);
  if (labels === 'too-many') return null;
  return {
    createdAtMs: Created.safeParse(value).data?.metadata.creationTimestamp ?? null,
    facts,
    ...(annotations !== null && { annotations }),
    ...(labels !== null && { labels }),
  };
}

/** `isAsked`: annotations or rules of a policy may let it go, so it matters whatever its kind is. */
function factsOf(kind: ExpiringKind, value: unknown, isAsked: boolean): ExpiryFacts | null {
  const reader = readerOf(kind);
  const facts = reader !== null && (isAsked || reader.isCollected) ? reader.read(value) : null;
  return facts ?? (isAsked ? { of: 'object' } : null);
}

/** An object with what rules about time read of it; `null` where that is beyond all bounds, or nothing: then it is kept. */
export interface ExpiringObject extends ObjectMetadata {
  readonly expiring: Expiring | null;
}

/** In which form one object is read for rules about time. */
export function expiringForm(kind: ExpiringKind, asked: LabelsAsked): ObjectForm<ExpiringObject> {
  const { accept, acceptList } = readerOf(kind) === null ? METADATA_FORM : WHOLE;
  return {
    accept,
    acceptList,
    read: (value) => {
      const object = METADATA_FORM.read(value);
      return object && { ...object, expiring: readExpiring(kind, value, asked) };
    },
  };
}

const WHOLE = wholeForm(METADATA_FORM.read);

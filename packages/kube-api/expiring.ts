import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { kindName, type ServedKind } from '../../schemas/events/cluster-objects.ts';
import {
  type CertificateRequestFacts,
  type ExpiryCandidate,
  type ExpiryFacts,
  type JobFacts,
  MAX_ANNOTATION_LENGTH,
  MAX_CONDITIONS,
  type PodEndFacts,
  TimeAnnotation,
} from '../../schemas/events/expiry.ts';
import { LabelName, type Labels, LabelValue, MAX_LABELS } from '../../schemas/events/label.ts';
import { ApiTime, METADATA_FORM, type ObjectForm, type ObjectMetadata, wholeForm } from './metadata.ts';

const Job = z.object({
  spec: z.object({ ttlSecondsAfterFinished: z.int().nonnegative().nullish() }),
  status: z
    .object({
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), lastTransitionTime: ApiTime }))
        .nullish(),
    })
    .nullish(),
});

const Finished = z.object({
  type: z.enum(['Complete', 'Failed']),
  status: z.literal('True'),
  lastTransitionTime: z.int().nullable(),
});

/** `null` for what is no Job. The first condition that says that it is finished counts (cluster K2). */
function readJob(value: unknown): JobFacts | null {
  const parsed = Job.safeParse(value);
  if (!parsed.success) return null;
  const { spec, status } = parsed.data;
  const [finished] = (status?.conditions ?? []).flatMap(
    (condition) => Finished.safeParse(condition).data ?? [],
  );
  return {
    of: 'Job',
    ttlSecondsAfterFinished: spec.ttlSecondsAfterFinished ?? null,
    finished: finished === undefined ? null : { atMs: finished.lastTransitionTime, type: finished.type },
  };
}

/** Longer ones are not looked at. */
const MAX_CERTIFICATE_BYTES = 64 * 1024;
const MAX_TYPE_LENGTH = 320;

const CertificateRequest = z.object({
  status: z
    .object({
      conditions: z
        .array(z.object({ type: z.string().max(MAX_TYPE_LENGTH), lastUpdateTime: ApiTime }))
        .max(MAX_CONDITIONS)
        .nullish(),
      certificate: z.string().nullish(),
    })
    .nullish(),
});

/** `null` for what is no such request, or has conditions beyond all bounds. */
function readCertificateRequest(value: unknown): CertificateRequestFacts | null {
  const parsed = CertificateRequest.safeParse(value);
  if (!parsed.success) return null;
  const { status } = parsed.data;
  return {
    of: 'CertificateSigningRequest',
    conditions: (status?.conditions ?? []).map(({ type, lastUpdateTime }) => ({
      type: type.toWellFormed(),
      updatedAtMs: lastUpdateTime,
    })),
    certificate: certificateOf(status?.certificate ?? ''),
  };
}

/** Of the first certificate (cluster L6). */
function certificateOf(base64: string): CertificateRequestFacts['certificate'] {
  if (base64 === '') return { is: 'missing' };
  if (base64.length > MAX_CERTIFICATE_BYTES) return { is: 'unreadable' };
  try {
    const notAfterMs = Date.parse(new X509Certificate(Buffer.from(base64, 'base64')).validTo);
    return Number.isSafeInteger(notAfterMs) ? { is: 'there', notAfterMs } : { is: 'unreadable' };
  } catch {
    return { is: 'unreadable' };
  }
}

const ContainerStatus = z.object({
  state: z
    .object({
      running: z.unknown().optional(),
      terminated: z.object({ finishedAt: ApiTime, exitCode: z.int().nullish().catch(null) }).nullish(),
    })
    .nullish(),
});
type ContainerStatus = z.infer<typeof ContainerStatus>;

/** Who wrote what of an object, and when by the API server's clock. */
const WrittenBy = z.object({ time: ApiTime, subresource: z.string().nullish() });

const Pod = z.object({
  metadata: z
    .object({
      creationTimestamp: ApiTime,
      managedFields: z.array(WrittenBy.nullable().catch(null)).catch([]),
    })
    .nullish()
    .catch(null),
  status: z
    .object({
      phase: z.string().nullish(),
      reason: z.string().nullish(),
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), lastTransitionTime: ApiTime }))
        .nullish(),
      initContainerStatuses: z.array(ContainerStatus).nullish(),
      containerStatuses: z.array(ContainerStatus).nullish(),
    })
    .nullish(),
});
type PodStatus = NonNullable<z.infer<typeof Pod>['status']>;
type ContainerStatuses = Pick<PodStatus, 'initContainerStatuses' | 'containerStatuses'>;
type PodMetadata = NonNullable<z.infer<typeof Pod>['metadata']>;

/** How and when a pod ended; `null` for what is no pod, or cannot be read. */
export function readPodEnd(value: unknown): PodEndFacts | null {
  const parsed = Pod.safeParse(value);
  if (!parsed.success) return null;
  const status = parsed.data.status ?? null;
  const state = status && stateOf(status);
  const atMs = status && endedAtMs(status, parsed.data.metadata ?? null);
  return { of: 'Pod', ended: status && state && { state, atMs } };
}

function stateOf({ phase, reason }: PodStatus): NonNullable<PodEndFacts['ended']>['state'] | null {
  if (phase === 'Succeeded') return 'Succeeded';
  if (phase !== 'Failed') return null;
  return reason === 'Evicted' ? 'Evicted' : 'Failed';
}

/**
 * When the last of its containers ended, and no earlier than somebody disrupted it. A pod that a kubelet did not let in has no
 * containers; one that it did not let in again after a restart has none either, and what it says of its start is of long before. Such
 * a pod ended no later than its status was written last. `null` where a container does not say when, or waited on, and nobody disrupted
 * the pod (cluster S13).
 */
function endedAtMs({ conditions, ...status }: PodStatus, metadata: PodMetadata | null): number | null {
  const isDisrupted = (type: string, is: string): boolean => type === 'DisruptionTarget' && is === 'True';
  const disrupted = conditions?.find((each) => isDisrupted(each.type, each.status));
  const disruptedAtMs = disrupted?.lastTransitionTime ?? null;
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  if (containers.length === 0) return disruptedAtMs ?? statusWrittenAtMs(metadata);
  const ends = containers
    .filter(hasBegun)
    .map(({ state }) => believed(state?.terminated?.finishedAt ?? null, metadata));
  if (ends.length === 0 || ends.includes(null) || hasWaitedOn(status)) return disruptedAtMs;
  return Math.max(...ends.filter((each) => each !== null), disruptedAtMs ?? 0);
}

function statusWrittenAtMs(metadata: PodMetadata | null): number | null {
  const times = (metadata?.managedFields ?? []).flatMap((each) =>
    each?.subresource === 'status' && each.time !== null ? [each.time] : [],
  );
  return times.length === 0 ? null : Math.max(...times);
}

/** @limit Clock skew of a node that reports when a container ended (S13). */
const LATE_CLOCK_MS = 300_000;

/** The clock of its node says when a container ended, and that of the API server when its pod was made: nothing ends before that. */
function believed(atMs: number | null, metadata: PodMetadata | null): number | null {
  const madeAtMs = metadata?.creationTimestamp ?? null;
  if (atMs === null || madeAtMs === null) return atMs;
  return atMs < madeAtMs - LATE_CLOCK_MS ? null : Math.max(atMs, madeAtMs);
}

/** What waits after those that ran did so until the pod ended, unless one failed that had to succeed before. */
const hasWaitedOn = ({ initContainerStatuses, containerStatuses }: ContainerStatuses): boolean => {
  const first = initContainerStatuses ?? [];
  const hasFailed = first.some(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  return !hasFailed && [...first, ...(containerStatuses ?? [])].some((each) => !hasBegun(each));
};

/** One that only waits never ran. */
const hasBegun = ({ state }: ContainerStatus): boolean =>
  (state?.running ?? null) !== null || (state?.terminated ?? null) !== null;

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
function readExpiring(kind: ExpiringKind, value: unknown, asked: LabelsAsked): Expiring | null {
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

/** Those of the wanted labels that an object has; `null` for none. */
export function wantedLabels(value: unknown, wanted: ReadonlySet<string>): Labels | 'too-many' | null {
  const all = memberOf(memberOf(value, 'metadata'), 'labels');
  const found = [...wanted].flatMap((name) => {
    const text = memberOf(all, name);
    return LabelName.safeParse(name).success && LabelValue.safeParse(text).success ? [[name, text]] : [];
  });
  // Without some of them a rule could take it that comes after the one that is for it.
  if (found.length > MAX_LABELS) return 'too-many';
  return found.length === 0 ? null : Object.fromEntries(found);
}

type Annotations = NonNullable<ExpiryCandidate['annotations']>;

/**
 * By which an object says when it may go; `null` for one that has none of them. One that is longer than any time is there and says
 * nothing: it is told as empty (cluster S8).
 */
function timeAnnotations(value: unknown): Annotations | null {
  const all = memberOf(memberOf(value, 'metadata'), 'annotations');
  if (all === null) return null;
  const found = TimeAnnotation.options.flatMap((name) => {
    const text = memberOf(all, name);
    if (text === null) return [];
    const isTold = typeof text === 'string' && text.length <= MAX_ANNOTATION_LENGTH && text.isWellFormed();
    return [[name, isTold ? text : ''] as const];
  });
  return found.length === 0 ? null : Object.fromEntries(found);
}

/** What lies under a name in a value that nobody has parsed; `null` where nothing does. */
const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : null;

import { z } from 'zod';
import { apiVersionOf } from '../../../packages/owner-graph/kinds.ts';
import { exceededBound } from '../../../packages/records/parse/json-bounds.ts';
import { type ClusterObject, FOREGROUND, kindName, ORPHAN } from '../../../schemas/events/cluster-objects.ts';
import {
  type ClusterRemoved,
  MANIFEST_BOUNDS,
  type ManifestLeftOut,
} from '../../../schemas/events/cluster-removed.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { ReadRemoved, SavedObject } from './read-removed.ts';

/** Why of an object nothing is printed. */
export type LeftOutBecause =
  | ManifestLeftOut
  /** It went, and nothing was saved before. */
  | 'not-saved'
  /** Its deletion was refused. */
  | 'stayed'
  /** Another object that had its name went after it. */
  | 'name-taken'
  /** What lies on the log is no manifest of it. */
  | 'unreadable';

interface LeftOut {
  readonly object: ClusterObject;
  readonly because: LeftOutBecause;
}

/** An object that can be created again. */
export interface Creatable {
  readonly clusterInstance: string;
  readonly object: ClusterObject;
  readonly manifest: CreatableManifest;
  readonly savedAtMs: number;
  readonly hadOwners: boolean;
  /** Whether a result says that it went; `false` also where its deletion failed in a way that leaves it open. */
  readonly isToldGone: boolean;
  /** It was deleted later than it was saved, when nothing was saved. */
  readonly isEarlierState: boolean;
}

export interface Undone {
  /** In an order in which they can be created. */
  readonly creatable: readonly Creatable[];
  readonly leftOut: readonly LeftOut[];
}

/** What can be created again of what was read, and why the rest cannot. */
export function undone({ saved, unsaved }: ReadRemoved): Undone {
  const went = saved.filter(({ fate }) => fate !== 'stayed');
  const last = new Map(went.map((each) => [placeOf(each), each]));
  const leftOut: LeftOut[] = unsaved.map((object) => ({ object, because: 'not-saved' }));
  const creatable: Creatable[] = [];
  for (const each of inCreationOrder(saved)) {
    const made = creatableOf(each, last.get(placeOf(each)) === each);
    if (typeof made === 'string') leftOut.push({ object: each.removed.object, because: made });
    else creatable.push(made);
  }
  return { creatable, leftOut };
}

/** Whatever its version: of two objects of one place only one can be there. */
const placeOf = ({ removed: { object } }: SavedObject): string =>
  JSON.stringify([kindName(object), object.namespace, object.name]);

function creatableOf(
  { removed, fate, savedAtMs, isEarlierState }: SavedObject,
  isLast: boolean,
): Creatable | LeftOutBecause {
  const { clusterInstance, object, saved, owners } = removed;
  if (fate === 'stayed') return 'stayed';
  if (saved.as === 'name') return saved.because;
  if (!isLast) return 'name-taken';
  const manifest = creatableManifest(object, saved.manifest);
  if (manifest === null) return 'unreadable';
  return {
    clusterInstance,
    object,
    manifest,
    savedAtMs,
    hadOwners: owners.length > 0,
    isToldGone: fate === 'went',
    isEarlierState,
  };
}

const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    finalizers: z.array(z.string()).optional(),
  }),
});
type CreatableManifest = z.infer<typeof Manifest>;

/** The manifest of an object as it can be created again; `null` for a text that is none of this object. */
function creatableManifest(object: ClusterObject, text: string): CreatableManifest | null {
  if (exceededBound(text, MANIFEST_BOUNDS) !== null) return null;
  const parsed = Manifest.safeParse(jsonOf(text));
  if (!parsed.success || !isOf(object, parsed.data)) return null;
  const manifest = withoutCollectors(parsed.data);
  return kindName(object) === 'batch/Job' ? jobWithoutSelector(manifest) : manifest;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isOf = (object: ClusterObject, { apiVersion, kind, metadata }: CreatableManifest): boolean =>
  apiVersion === apiVersionOf(object) &&
  kind === object.kind &&
  metadata.name === object.name &&
  (metadata.namespace ?? '') === object.namespace;

const COLLECTORS: readonly string[] = [FOREGROUND, ORPHAN];

/** The finalizers of the collector say how it was to go, and would say so again. */
function withoutCollectors(manifest: CreatableManifest): CreatableManifest {
  const { finalizers, ...metadata } = manifest.metadata;
  const others = finalizers?.filter((each) => !COLLECTORS.includes(each)) ?? [];
  return { ...manifest, metadata: { ...metadata, ...(others.length > 0 && { finalizers: others }) } };
}

const Labels = z.record(z.string(), z.string());
const JobSpec = z.looseObject({
  manualSelector: z.boolean().optional(),
  template: z.looseObject({ metadata: z.looseObject({ labels: Labels.optional() }).optional() }),
});

/** The API server sets these of a Job by its uid, and takes no Job that has them already. */
const SET_BY_UID: readonly string[] = [
  'controller-uid',
  'job-name',
  'batch.kubernetes.io/controller-uid',
  'batch.kubernetes.io/job-name',
];

function jobWithoutSelector(manifest: CreatableManifest): CreatableManifest {
  const parsed = JobSpec.safeParse(manifest.spec);
  if (!parsed.success || parsed.data.manualSelector === true) return manifest;
  const { selector: _, template, ...spec } = parsed.data;
  return {
    ...manifest,
    metadata: unlabelled(manifest.metadata),
    spec: {
      ...spec,
      template: { ...template, ...(template.metadata && { metadata: unlabelled(template.metadata) }) },
    },
  };
}

const unlabelled = <Labelled extends { readonly labels?: Readonly<Record<string, string>> | undefined }>(
  metadata: Labelled,
): Labelled => ({
  ...metadata,
  ...(metadata.labels && {
    labels: Object.fromEntries(
      Object.entries(metadata.labels).filter(([name]) => !SET_BY_UID.includes(name)),
    ),
  }),
});

/** Without these others cannot be created, whoever owns them. */
const FIRST: readonly string[] = [
  'Namespace',
  'project.openshift.io/Project',
  'apiextensions.k8s.io/CustomResourceDefinition',
  'scheduling.k8s.io/PriorityClass',
  'storage.k8s.io/StorageClass',
  'PersistentVolume',
  'ServiceAccount',
  'ConfigMap',
  'PersistentVolumeClaim',
];

interface Ordered {
  readonly removed: Pick<ClusterRemoved, 'object' | 'owners'>;
}

/** What others need before them: namespaces and definitions first, and owners before their dependents. */
function inCreationOrder<Saved extends Ordered>(saved: readonly Saved[]): readonly Saved[] {
  const sorted = saved.toSorted(byKindAndName);
  const byUid = new Map(sorted.map((each) => [each.removed.object.uid, each]));
  const done = new Set<Saved>();
  const begun = new Set<Saved>();
  for (const each of sorted) {
    const open = [each];
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      const waitsFor = begun.has(last) ? [] : ownersOf(last, byUid).filter((owner) => !begun.has(owner));
      begun.add(last);
      if (waitsFor.length > 0) {
        open.push(...waitsFor);
        continue;
      }
      open.pop();
      done.add(last);
    }
  }
  return [...done];
}

const ownersOf = <Saved extends Ordered>(
  { removed: { owners } }: Saved,
  byUid: ReadonlyMap<string, Saved>,
): readonly Saved[] => owners.flatMap(({ uid }) => byUid.get(uid) ?? []);

function byKindAndName({ removed: { object: a } }: Ordered, { removed: { object: b } }: Ordered): number {
  return (
    rankOf(a) - rankOf(b) ||
    compareText(kindName(a), kindName(b)) ||
    compareText(a.namespace, b.namespace) ||
    compareText(a.name, b.name)
  );
}

const rankOf = (object: Parameters<typeof kindName>[0]): number => {
  const rank = FIRST.indexOf(kindName(object));
  return rank < 0 ? FIRST.length : rank;
};

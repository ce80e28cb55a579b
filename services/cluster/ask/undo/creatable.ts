import { z } from 'zod';
import { apiVersionOf } from '../../../../packages/owner-graph/kinds.ts';
import { exceededBound } from '../../../../packages/records/parse/json-bounds.ts';
import {
  type ClusterObject,
  FOREGROUND,
  kindName,
  ORPHAN,
} from '../../../../schemas/events/cluster-objects.ts';
import { MANIFEST_BOUNDS } from '../../../../schemas/events/cluster-removed.ts';

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
export type CreatableManifest = z.infer<typeof Manifest>;

/** The manifest of an object as it can be created again; `null` for a text that is none of this object. */
export function creatableManifest(object: ClusterObject, text: string): CreatableManifest | null {
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

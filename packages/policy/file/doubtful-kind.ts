import type { Problem } from './problem.ts';
import { problemAt, type YamlDocument } from './yaml-document.ts';

/** Kinds of the core group that can be deleted, as Kubernetes 1.34 serves them. */
const CORE_KINDS: ReadonlySet<string> = new Set([
  'ConfigMap',
  'Endpoints',
  'Event',
  'LimitRange',
  'Namespace',
  'Node',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'Pod',
  'PodTemplate',
  'ReplicationController',
  'ResourceQuota',
  'Secret',
  'Service',
  'ServiceAccount',
]);

/** Of a kind that is written as its resource is called, or without its group: nothing would be kept, held or taken by it. */
export function doubtfulKind(
  kind: string,
  path: readonly (string | number)[],
  document: YamlDocument,
): readonly Problem[] {
  const doubt = doubtAbout(kind);
  return doubt === null ? [] : [problemAt(document, path, doubt)];
}

function doubtAbout(kind: string): string | null {
  const name = kind.slice(kind.indexOf('/') + 1);
  if (/^[a-z]/.test(name))
    return `${kind} looks like the name of a resource: kinds are written as in Pod or apps/Deployment`;
  if (kind.includes('/') || CORE_KINDS.has(kind)) return null;
  return `there is no ${kind} in the core group: other kinds are written with their group, as in batch/Job`;
}

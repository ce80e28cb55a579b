import type { ApiResource } from './resources.ts';

/** RBAC says it so; admission refuses in other words. */
const BY_RBAC = /cannot (\w+) resource/;
/** What is listed is watched too, and the other way round. */
const READING: readonly string[] = ['list', 'watch'];

/** The rule of a role that would allow it, before what the API server says; other refusals stay as they are. */
export function withMissingRight(
  refusal: string,
  { group, resource }: Pick<ApiResource, 'group' | 'resource'>,
): string {
  const verb = BY_RBAC.exec(refusal)?.[1];
  if (verb === undefined) return refusal;
  const verbs = READING.includes(verb) ? READING : [verb];
  const rule = JSON.stringify({ apiGroups: [group], resources: [resource], verbs });
  return `the role lacks the rule ${rule}: ${refusal}`;
}

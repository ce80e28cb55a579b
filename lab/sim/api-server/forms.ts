import type { ApiKind } from '../../../packages/kube-api/resources.ts';
import type { Answer } from './answers.ts';
import { apiVersionOf } from './kinds.ts';
import { type ApiObject, toldObject } from './objects.ts';

/** Whole objects, or their metadata alone. */
export type ObjectForm = 'whole' | 'metadata';

const META = 'meta.k8s.io/v1';
const METADATA_KIND = 'PartialObjectMetadata';
const PLAIN = new Set(['', '*/*', 'application/*', 'application/json']);

/** The first of what is accepted that can be told; `null` where nothing can. */
export function formOf(accept: string): ObjectForm | null {
  for (const each of accept.split(',')) {
    const type = each.replaceAll(/\s|;q=[\d.]+/g, '');
    if (PLAIN.has(type)) return 'whole';
    if (type.startsWith('application/json;') && type.includes(`as=${METADATA_KIND}`)) return 'metadata';
  }
  return null;
}

/** An object as it is told by itself. */
export const told = (object: ApiObject, form: ObjectForm): object =>
  form === 'whole'
    ? toldObject(object)
    : { ...toldObject({ ...typeOf(object, form), metadata: object.metadata }) };

/** How a kind is named in this form. */
export const typeOf = (
  { apiVersion, kind }: Pick<ApiObject, 'apiVersion' | 'kind'>,
  form: ObjectForm,
): Pick<ApiObject, 'apiVersion' | 'kind'> =>
  form === 'whole' ? { apiVersion, kind } : { apiVersion: META, kind: METADATA_KIND };

/** An answer holds an object, or a status, which is told as it is. */
export const toldAnswer = (answer: Answer, form: ObjectForm): Answer =>
  isObject(answer.body) ? { ...answer, body: told(answer.body, form) } : answer;

const isObject = (body: unknown): body is ApiObject =>
  typeof body === 'object' && body !== null && 'kind' in body && body.kind !== 'Status';

interface ToldPage {
  readonly objects: readonly ApiObject[];
  readonly resourceVersion: string;
  readonly next: string;
  readonly left: number;
}

export const toldList = (
  kind: ApiKind,
  { objects, resourceVersion, next, left }: ToldPage,
  form: ObjectForm,
): object => ({
  ...(form === 'whole'
    ? { apiVersion: apiVersionOf(kind), kind: `${kind.kind}List` }
    : { apiVersion: META, kind: `${METADATA_KIND}List` }),
  metadata: { resourceVersion, ...(left > 0 && { continue: next, remainingItemCount: left }) },
  items: objects.map((object) => told(object, form)),
});

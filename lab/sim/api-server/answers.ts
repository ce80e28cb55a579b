import type { ApiKind } from '../../../packages/kube-api/resources.ts';
import { type ApiObject, apiVersionOf, toldObject } from './objects.ts';

/** What the server says to a request. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly etag?: string;
}

const CODES = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
} as const;
type Reason = keyof typeof CODES;

export const ok = (body: unknown): Answer => ({ status: 200, body });

/** `details` name an object only where the refusal is about that very object. */
export const refusal = (reason: Reason, message: string, details: object = {}): Answer => ({
  status: CODES[reason],
  body: statusBody(reason, message, details),
});

export const statusBody = (reason: Reason, message: string, details: object = {}): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason,
  details,
  code: CODES[reason],
});

export const detailsOf = ({ group, resource }: ApiKind, name: string): object => ({
  name,
  ...(group !== '' && { group }),
  kind: resource,
});

export const notFound = (kind: ApiKind, name: string): Answer =>
  refusal('NotFound', `${kind.resource} "${name}" not found`, detailsOf(kind, name));

/** A path that nobody serves names no object. */
export const notServed = (): Answer =>
  refusal('NotFound', 'the server could not find the requested resource');

export const conflict = (kind: ApiKind, name: string, message: string): Answer =>
  refusal('Conflict', message, detailsOf(kind, name));

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

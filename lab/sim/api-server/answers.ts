import type { ApiKind } from '../../../packages/kube-api/resources.ts';

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
export type Reason = keyof typeof CODES;

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

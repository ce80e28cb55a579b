import type { ApiAnswer, ApiConnection } from './connection.ts';
import { METADATA_FORM, type ObjectForm, type ObjectMetadata } from './metadata.ts';
import { type ApiKind, type ApiObjectName, objectPath } from './resources.ts';
import { type ApiStatus, jsonOf, refusalText, statusOf } from './status.ts';

export type LiveObject<Seen extends ObjectMetadata = ObjectMetadata> =
  | { readonly kind: 'found'; readonly object: Seen }
  /** The API server says of this very object that it is not there. */
  | { readonly kind: 'absent' }
  /** Anything else, from which nothing follows. */
  | { readonly kind: 'unknown'; readonly answer: ApiAnswer; readonly message: string };

/**
 * Reads one object from etcd, not from a cache. Absent is only what a `Status` names: a 404 for a path that is not served names no
 * object (cluster D4, D9). Rejects with what the connection rejects with.
 */
export async function readObject<Seen extends ObjectMetadata>(
  connection: ApiConnection,
  resource: ApiKind,
  named: ApiObjectName,
  form: ObjectForm<Seen>,
): Promise<LiveObject<Seen>> {
  const answer = await connection.call({
    method: 'GET',
    path: objectPath(resource, named),
    accept: form.accept,
    ...(form.mostAnswerBytes !== undefined && { mostAnswerBytes: form.mostAnswerBytes }),
  });
  return answeredObject(answer, resource, named, form);
}

/** Whether an answer says that a path is not served at all, and not that an object is not there. A 404 of whom it may be proves nothing by itself. */
export function isPathUnserved({ status, body }: ApiAnswer): boolean {
  if (status !== 404) return false;
  const told = statusOf(jsonOf(body));
  return told === null || (told.reason === 'NotFound' && (told.details?.name ?? '') === '');
}

/** What an answer about an object says of it. */
export const liveObject = (answer: ApiAnswer, resource: ApiKind, named: ApiObjectName): LiveObject =>
  answeredObject(answer, resource, named, METADATA_FORM);

function answeredObject<Seen extends ObjectMetadata>(
  answer: ApiAnswer,
  resource: ApiKind,
  named: ApiObjectName,
  form: ObjectForm<Seen>,
): LiveObject<Seen> {
  const unknown = (message: string): LiveObject<Seen> => ({ kind: 'unknown', answer, message });
  const body = jsonOf(answer.body);
  if (answer.status === 200) {
    const object = isOfKind(body, resource) ? form.read(body) : null;
    return object !== null && isAt(object, resource, named)
      ? { kind: 'found', object }
      : unknown('the answer is no such object');
  }
  if (answer.status !== 404) return unknown(refusalText(answer));
  const status = statusOf(body);
  return status !== null && isAbout(status, resource, named)
    ? { kind: 'absent' }
    : unknown(`a 404 that does not name the object: ${refusalText(answer)}`);
}

/** As it was asked for, or whole where a server knows only that. */
const isOfKind = (body: unknown, { kind }: ApiKind): boolean =>
  typeof body === 'object' &&
  body !== null &&
  'kind' in body &&
  (body.kind === METADATA_KIND || body.kind === kind);

const METADATA_KIND = 'PartialObjectMetadata';

const isAt = ({ name, namespace }: ObjectMetadata, { namespaced }: ApiKind, named: ApiObjectName): boolean =>
  name === named.name && namespace === (namespaced ? named.namespace : '');

/** Some servers leave away what kind it is, or write the kind in place of the resource. */
function isAbout(
  { reason, details }: ApiStatus,
  { group, resource, kind }: ApiKind,
  { name }: ApiObjectName,
) {
  const told = details?.kind ?? '';
  return (
    reason === 'NotFound' &&
    details?.name === name &&
    ['', resource, kind].includes(told) &&
    ['', group].includes(details?.group ?? '')
  );
}

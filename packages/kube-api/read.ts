import type { ApiAnswer, ApiConnection } from './connection.ts';
import { AS_METADATA } from './list.ts';
import { type ObjectMetadata, readMetadata } from './metadata.ts';
import { type ApiObjectName, type ApiResource, objectPath } from './resources.ts';
import { jsonOf, refusalText, statusOf } from './status.ts';

export type LiveObject =
  | { readonly kind: 'found'; readonly object: ObjectMetadata }
  /** The API server says of this very object that it is not there. */
  | { readonly kind: 'absent' }
  /** Anything else, from which nothing follows. */
  | { readonly kind: 'unknown'; readonly answer: ApiAnswer; readonly message: string };

/**
 * Reads one object from etcd, not from a cache. Absent is only what a `Status` names: a 404 for a path that is not served names no
 * object (cluster D4, D9). Rejects with what the connection rejects with.
 */
export async function readObject(
  connection: ApiConnection,
  resource: ApiResource,
  named: ApiObjectName,
): Promise<LiveObject> {
  const answer = await connection.call({
    method: 'GET',
    path: objectPath(resource, named),
    accept: AS_METADATA,
  });
  return liveObject(answer, named);
}

export function liveObject(answer: ApiAnswer, { name }: ApiObjectName): LiveObject {
  const unknown = (message: string): LiveObject => ({ kind: 'unknown', answer, message });
  const body = jsonOf(answer.body);
  if (answer.status === 200) {
    const object = readMetadata(body);
    return object?.name === name ? { kind: 'found', object } : unknown('the answer is no such object');
  }
  if (answer.status !== 404) return unknown(refusalText(answer));
  const status = statusOf(body);
  const isOfThis = status?.reason === 'NotFound' && status.details?.name === name;
  return isOfThis ? { kind: 'absent' } : unknown(`a 404 that names no object: ${refusalText(answer)}`);
}

import type { ApiAnswer, ApiConnection } from './connection.ts';
import { AS_METADATA } from './metadata.ts';
import { type ApiObjectName, type ApiResource, objectPath } from './resources.ts';

/** Whose status is written, in the state in which it was judged and in no other. */
interface StatusTarget {
  readonly resource: ApiResource;
  readonly named: ApiObjectName;
  readonly judged: { readonly uid: string; readonly resourceVersion: string };
}

/** The status of an object of a kind that has one apart, whole: what it does not say goes. A compare and swap. */
export const replaceStatus = (
  connection: ApiConnection,
  { resource, named, judged }: StatusTarget,
  status: { readonly before: object; readonly after: object },
): Promise<ApiAnswer> => {
  const gone = Object.keys(status.before).filter((key) => !Object.hasOwn(status.after, key));
  return connection.call({
    method: 'PATCH',
    path: objectPath(resource, named, 'status'),
    accept: AS_METADATA,
    contentType: 'application/merge-patch+json',
    body: JSON.stringify({
      metadata: { uid: judged.uid, resourceVersion: judged.resourceVersion },
      status: { ...Object.fromEntries(gone.map((key) => [key, null])), ...status.after },
    }),
  });
};

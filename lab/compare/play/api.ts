import pLimit from 'p-limit';
import { z } from 'zod';
import type { ApiAnswer, ApiConnection } from '../../../packages/kube-api/connection.ts';
import { collectionPath, objectPath } from '../../../packages/kube-api/resources.ts';
import type { ApiRequest } from '../../../packages/kube-api/send.ts';
import { refusalText } from '../../../packages/kube-api/status.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { AskedPropagation } from '../history/history.ts';
import { apiVersionOf, type PlayedKind } from '../history/kinds.ts';

/** A reference as the API server has it. */
const Reference = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
});
export type Reference = z.infer<typeof Reference>;

const Metadata = z.object({
  namespace: z.string().default(''),
  name: z.string(),
  uid: z.string(),
  resourceVersion: z.string(),
  deletionTimestamp: z.string().optional(),
  finalizers: z.array(z.string()).default([]),
  ownerReferences: z.array(Reference).default([]),
});
export type Metadata = z.infer<typeof Metadata>;

const Whole = z.object({ metadata: Metadata });
const List = z.object({ items: z.array(Whole).nullish() });
const WholeObject = z.looseObject({ metadata: z.looseObject(Metadata.shape) });
export type WholeObject = z.infer<typeof WholeObject>;
const WholeList = z.object({ items: z.array(WholeObject).nullish() });

/** An object that is to be made. */
interface Made {
  readonly metadata: { readonly name: string };
}

/** What of an object's metadata is written. */
export interface Written {
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly Reference[];
}

/** What an object has beside its metadata. */
interface MoreBody {
  readonly spec?: object;
  readonly status?: object;
}

export interface Named {
  readonly namespace: string;
  readonly name: string;
}

const AS_METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
/** Requests of all runs together that are under way. */
const AT_ONCE = 24;
const MOST_CONFLICTS = 20;
const MOST_TRIES = 5;

const isBrokenOff = (error: unknown): boolean =>
  error instanceof FleetGcError && error.code === 'API_UNREACHABLE';

/** What histories ask of an API server. An answer that no history foresees is an error. */
export class Api {
  readonly #connection: ApiConnection;
  readonly #inTurn = pLimit(AT_ONCE);

  constructor(connection: ApiConnection) {
    this.#connection = connection;
  }

  /** Resolves to the answer, whatever its status. A connection that broke off is no answer: it is asked again. */
  ask(request: ApiRequest): Promise<ApiAnswer> {
    return this.#inTurn(async () => {
      for (let tries = 1; ; tries++) {
        try {
          return await this.#connection.call(request);
        } catch (error) {
          if (tries === MOST_TRIES || !isBrokenOff(error)) throw error;
        }
      }
    });
  }

  async createNamespace(name: string): Promise<void> {
    await this.post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }

  async post<Object extends Made>(path: string, object: Object): Promise<Metadata> {
    const request: ApiRequest = { method: 'POST', path, body: JSON.stringify(object) };
    const answer = await this.ask(request);
    const body = this.#bodyOf(request, answer, [201, 409]);
    if (answer.status === 201) return Whole.parse(body).metadata;
    // Made by a try whose answer did not come: names are given once.
    const read: ApiRequest = { method: 'GET', path: `${path}/${object.metadata.name}` };
    return Whole.parse(this.#bodyOf(read, await this.ask(read), [200])).metadata;
  }

  /** Resolves to its uid. `more`: what it has beside what every object of its kind has. */
  async create(
    kind: PlayedKind,
    { namespace, name }: Named,
    written: Written,
    more: MoreBody = {},
  ): Promise<string> {
    const { group, version } = kind;
    const metadata = { name, ...(kind.namespaced && { namespace }), ...written };
    const spec = { ...kind.body.spec, ...more.spec };
    const body = { ...kind.body, ...more, ...(Object.keys(spec).length > 0 && { spec }) };
    const object = { apiVersion: apiVersionOf(group, version), kind: kind.kind, metadata, ...body };
    const path = objectPath(kind, { namespace, name });
    return (await this.post(path.slice(0, path.lastIndexOf('/')), object)).uid;
  }

  /** Whether it was there. */
  async delete(
    kind: PlayedKind,
    named: Named,
    propagationPolicy: AskedPropagation,
    more: { readonly gracePeriodSeconds?: number } = {},
  ): Promise<boolean> {
    const options = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      ...(propagationPolicy !== null && { propagationPolicy }),
      ...more,
    };
    const path = objectPath(kind, named);
    const request: ApiRequest = { method: 'DELETE', path, body: JSON.stringify(options) };
    const answer = await this.ask(request);
    this.#bodyOf(request, answer, [200, 202, 404]);
    return answer.status !== 404;
  }

  /** Changes what is there; nothing if it is not. What somebody else changes meanwhile is read again. */
  async change(kind: PlayedKind, named: Named, change: (metadata: Metadata) => Written): Promise<void> {
    const path = objectPath(kind, named);
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
      const read: ApiRequest = { method: 'GET', path };
      const found = await this.ask(read);
      const body = this.#bodyOf(read, found, [200, 404]);
      if (found.status === 404) return;
      const { metadata } = Whole.parse(body);
      const { uid, resourceVersion } = metadata;
      const patch: ApiRequest = {
        method: 'PATCH',
        path,
        contentType: 'application/merge-patch+json',
        body: JSON.stringify({ metadata: { uid, resourceVersion, ...change(metadata) } }),
      };
      const answer = await this.ask(patch);
      this.#bodyOf(patch, answer, [200, 404, 409]);
      if (answer.status !== 409) return;
    }
    throw new Error(`PATCH ${path} met ${MOST_CONFLICTS} conflicts`);
  }

  /** Merges it into an object, or into a part of it that is written by itself; nothing if the object is not there. */
  async merge(kind: PlayedKind, named: Named, body: object, subresource = ''): Promise<void> {
    const request: ApiRequest = {
      method: 'PATCH',
      path: objectPath(kind, named, subresource),
      contentType: 'application/merge-patch+json',
      body: JSON.stringify(body),
    };
    this.#bodyOf(request, await this.ask(request), [200, 404]);
  }

  /** The whole object; `null` if it is not there. */
  async read(kind: PlayedKind, named: Named): Promise<unknown> {
    const request: ApiRequest = { method: 'GET', path: objectPath(kind, named) };
    const answer = await this.ask(request);
    const body = this.#bodyOf(request, answer, [200, 404]);
    return answer.status === 404 ? null : body;
  }

  /** All objects of a kind, as new as etcd. */
  async list(kind: PlayedKind): Promise<readonly Metadata[]> {
    const { items } = List.parse(await this.#list(kind, AS_METADATA_LIST));
    return (items ?? []).map(({ metadata }) => metadata);
  }

  /** The same with all that they are. */
  async listWhole(kind: PlayedKind): Promise<readonly WholeObject[]> {
    return WholeList.parse(await this.#list(kind, 'application/json')).items ?? [];
  }

  async #list(kind: PlayedKind, accept: string): Promise<unknown> {
    const request: ApiRequest = { method: 'GET', path: collectionPath(kind, {}), accept };
    return this.#bodyOf(request, await this.ask(request), [200]);
  }

  #bodyOf({ method, path }: ApiRequest, answer: ApiAnswer, foreseen: readonly number[]): unknown {
    if (!foreseen.includes(answer.status)) throw new Error(`${method} ${path}: ${refusalText(answer)}`);
    return JSON.parse(answer.body);
  }
}

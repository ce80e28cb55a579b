import { expect } from 'vitest';
import { z } from 'zod';
import type { ApiAnswer, ApiConnection } from '../../../../packages/kube-api/connection.ts';
import type { ApiRequest } from '../../../../packages/kube-api/send.ts';
import { linesOf } from '../../../../packages/process/lines.ts';
import { waitUntil } from '../../../support/wait-until.ts';

/** An API server to be tested. */
export interface ServerUnderTest extends AsyncDisposable {
  readonly connection: ApiConnection;
  /** Of somebody whom it does not know. */
  readonly unknown: ApiConnection;
}

/** How an object is told. */
export const Told = z.looseObject({
  apiVersion: z.string().default(''),
  kind: z.string().default(''),
  metadata: z.looseObject({
    name: z.string().default(''),
    uid: z.string().default(''),
    resourceVersion: z.string(),
    creationTimestamp: z.string().nullish(),
    deletionTimestamp: z.string().optional(),
    finalizers: z.array(z.string()).optional(),
    ownerReferences: z.array(z.looseObject({ uid: z.string() })).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
});
export type Told = z.infer<typeof Told>;

/** And why a request was refused. */
export const Refused = z.looseObject({
  kind: z.literal('Status'),
  status: z.literal('Failure'),
  reason: z.string(),
  code: z.int(),
  details: z.looseObject({ name: z.string().optional(), kind: z.string().optional() }).nullish(),
});

export const TEST_NAMESPACE = 'contract';
export const CONFIG_MAPS = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  resource: 'configmaps',
  namespaced: true,
} as const;
export const inNamespace = (name: string) => ({ namespace: TEST_NAMESPACE, name });
export const PATH = `/api/v1/namespaces/${TEST_NAMESPACE}/configmaps`;
const MERGE_PATCH = 'application/merge-patch+json';

/** What a person does with the objects of one namespace. */
export class Tried {
  readonly connection: ApiConnection;

  constructor(connection: ApiConnection) {
    this.connection = connection;
  }

  call(method: ApiRequest['method'], path: string, body?: unknown): Promise<ApiAnswer> {
    return this.connection.call({
      method,
      path,
      ...(method === 'PATCH' && { contentType: MERGE_PATCH }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  async create(name: string, metadata: object = {}): Promise<Told> {
    const answer = await this.call('POST', PATH, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, ...metadata },
      data: { key: 'value' },
    });
    expect(answer.status, answer.body).toBe(201);
    return toldIn(answer);
  }

  async get(name: string): Promise<Told | null> {
    const answer = await this.call('GET', `${PATH}/${name}`);
    return answer.status === 404 ? null : toldIn(answer);
  }

  patch(name: string, patch: object): Promise<ApiAnswer> {
    return this.call('PATCH', `${PATH}/${name}`, patch);
  }

  delete(name: string, options: object = {}): Promise<ApiAnswer> {
    return this.call('DELETE', `${PATH}/${name}`, options);
  }

  /** The namespace of all tests. */
  async prepare(): Promise<void> {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: TEST_NAMESPACE } };
    expect((await this.call('POST', '/api/v1/namespaces', namespace)).status).toBe(201);
  }

  /** The version up to which all is known. */
  async now(): Promise<string> {
    return toldIn(await this.call('GET', `${PATH}?limit=1`)).metadata.resourceVersion;
  }

  /** Follows what happens after a version. */
  async watch(from: string, query = '', path = PATH): Promise<Watched> {
    const stop = new AbortController();
    const request = { method: 'GET', path: `${path}?watch=true&resourceVersion=${from}${query}` } as const;
    const { status, body } = await this.connection.stream(request, stop.signal);
    expect(status).toBe(200);
    return new Watched(body, stop);
  }
}

export const toldIn = ({ body }: ApiAnswer): Told => Told.parse(JSON.parse(body));
export const refusedIn = ({ body }: ApiAnswer) => Refused.parse(JSON.parse(body));

const Line = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.looseObject({ code: z.int().optional(), reason: z.string().optional() }),
});

const MAX_LINE_BYTES = 1024 * 1024;
const TOLD_MS = 10_000;

/** What a watch has told. */
export class Watched implements Disposable {
  readonly events: z.infer<typeof Line>[] = [];
  hasEnded = false;
  readonly #stop: AbortController;

  constructor(body: AsyncIterable<Buffer>, stop: AbortController) {
    this.#stop = stop;
    void this.#read(body).catch(() => undefined);
  }

  async #read(body: AsyncIterable<Buffer>): Promise<void> {
    for await (const line of linesOf(body, MAX_LINE_BYTES))
      this.events.push(Line.parse(JSON.parse(line.toString('utf8'))));
    this.hasEnded = true;
  }

  /** Waits for so many events about an object, and gives back all of them in their order. */
  async about(name: string, count: number): Promise<readonly (Told & { readonly type: string })[]> {
    await waitUntil(`${count} events about ${name}`, TOLD_MS, () => this.#about(name).length >= count);
    return this.#about(name);
  }

  #about(name: string) {
    return this.events
      .filter(({ type }) => type !== 'ERROR')
      .map(({ type, object }) => ({ type, ...Told.parse(object) }))
      .filter(({ metadata }) => metadata.name === name);
  }

  /** Waits until the server has ended it. */
  async end(): Promise<void> {
    await waitUntil('the watch to end', TOLD_MS, () => this.hasEnded);
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }
}

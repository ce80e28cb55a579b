import pLimit from 'p-limit';
import { z } from 'zod';
import { AS_METADATA } from '../../../../packages/kube-api/metadata.ts';
import { linesOf } from '../../../../packages/process/lines.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { ApiArena } from './api-arena.ts';

const AT_ONCE = 32;
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const WATCH_SECONDS = 3_600;
const SEEN_MS = 60_000;
const CONFIG_MAP = { apiVersion: 'v1', kind: 'ConfigMap' } as const;

const Made = z.object({ metadata: z.object({ uid: z.string(), resourceVersion: z.string() }) });
const Line = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.object({ metadata: z.object({ name: z.string().default('') }) }),
});

/** An object that others name as their owner. */
export interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export const configMapsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;

export async function createNamespace({ ask }: Pick<ApiArena, 'ask'>, name: string): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  await ask({ method: 'POST', path: '/api/v1/namespaces', body: JSON.stringify(namespace) });
}

/** A ConfigMap with the labels and annotations of what a chart makes. */
export async function createConfigMap(
  { ask }: Pick<ApiArena, 'ask'>,
  namespace: string,
  { name, owner }: { readonly name: string; readonly owner: Owner | null },
): Promise<Owner & { readonly resourceVersion: string }> {
  const body = {
    ...CONFIG_MAP,
    metadata: {
      name,
      labels: { app: name, 'app.kubernetes.io/managed-by': 'Helm' },
      annotations: { 'meta.helm.sh/release-name': namespace, 'meta.helm.sh/release-namespace': namespace },
      ownerReferences: referencesTo(owner),
    },
    data: { key: 'value' },
  };
  const made = await ask({ method: 'POST', path: configMapsOf(namespace), body: JSON.stringify(body) });
  return { ...CONFIG_MAP, name, ...Made.parse(JSON.parse(made)).metadata };
}

export const referencesTo = (owner: Owner | null) => {
  if (owner === null) return [];
  const { apiVersion, kind, name, uid } = owner;
  return [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }];
};

export async function deleteConfigMap(
  { ask }: Pick<ApiArena, 'ask'>,
  namespace: string,
  name: string,
): Promise<void> {
  const options = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' };
  const path = `${configMapsOf(namespace)}/${name}`;
  await ask({ method: 'DELETE', path, body: JSON.stringify(options) });
}

/** Three generations: a root, some owners, and all others below them. The root is not counted. */
export async function createCascade(
  arena: ApiArena,
  namespace: string,
  { owners, objects }: { readonly owners: number; readonly objects: number },
): Promise<Owner & { readonly resourceVersion: string }> {
  await createNamespace(arena, namespace);
  const root = await createConfigMap(arena, namespace, { name: 'root', owner: null });
  const inTurn = pLimit(AT_ONCE);
  const create = (name: string, owner: Owner) =>
    inTurn(() => createConfigMap(arena, namespace, { name: `${name}-${wordOf(name)}`, owner }));
  const middle = await Promise.all(Array.from({ length: owners }, (_, at) => create(`service-${at}`, root)));
  await Promise.all(
    Array.from({ length: objects - owners }, (_, at) => {
      const owner = middle[at % owners] ?? root;
      return create(`${owner.name}-${Math.floor(at / owners)}`, owner);
    }),
  );
  return root;
}

/** Names end with something that nobody can foretell, as those that controllers make. */
const wordOf = (text: string): string => {
  let word = 7;
  for (const character of text) word = (Math.imul(word, 31) + character.charCodeAt(0)) >>> 0;
  return Math.imul(word, 2_654_435_761).toString(36).replace('-', '').slice(-5);
};

/** When ConfigMaps of a namespace went, as a watch tells it. */
export interface Watching extends AsyncDisposable {
  /** Resolves to `performance.now()` when it went. */
  gone(name: string, usualMs: number): Promise<number>;
  /** Resolves to the times, in order, when so many are gone. */
  count(objects: number, usualMs: number): Promise<readonly number[]>;
}

export async function watchConfigMaps(
  { connection }: Pick<ApiArena, 'connection'>,
  namespace: string,
  resourceVersion: string,
  onGone: (name: string) => void = () => undefined,
): Promise<Watching> {
  const stop = new AbortController();
  const goneAtMs = new Map<string, number>();
  const query = `watch=true&resourceVersion=${resourceVersion}&timeoutSeconds=${WATCH_SECONDS}`;
  const path = `${configMapsOf(namespace)}?${query}`;
  const { body } = await connection.stream({ method: 'GET', path, accept: AS_METADATA }, stop.signal);
  let failure: unknown = null;
  const note = (name: string): void => {
    goneAtMs.set(name, performance.now());
    onGone(name);
  };
  const reading = noteGone(body, note).catch((error: unknown) => {
    failure = error;
  });
  const until = async (what: string, usualMs: number, isSo: () => boolean): Promise<void> => {
    const end = await waitUntil(what, usualMs, () => (failure === null ? isSo() && 'so' : 'failed'));
    if (end === 'failed') throw new Error('the watch of the benchmark ended', { cause: failure });
  };
  return {
    gone: async (name, usualMs) => {
      await until(`${name} to go`, usualMs, () => goneAtMs.has(name));
      return goneAtMs.get(name) ?? Number.NaN;
    },
    count: async (objects, usualMs) => {
      await until(`${objects} objects to go`, usualMs, () => goneAtMs.size >= objects);
      return [...goneAtMs.values()];
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await reading;
    },
  };
}

async function noteGone(body: AsyncIterable<Buffer>, note: (name: string) => void): Promise<void> {
  for await (const line of linesOf(body, MAX_LINE_BYTES)) {
    const { type, object } = Line.parse(JSON.parse(line.toString('utf8')));
    if (type === 'ERROR') throw new Error(line.toString('utf8').slice(0, 300));
    if (type === 'DELETED') note(object.metadata.name);
  }
  throw new Error('the API server ended it');
}

/** Resolves when the collector that runs collects: an object whose owner never was has gone. */
export async function untilCollecting(arena: ApiArena, namespace: string): Promise<void> {
  const never = { ...CONFIG_MAP, name: 'never', uid: crypto.randomUUID() };
  const name = `tracer-${crypto.randomUUID()}`;
  const { resourceVersion } = await createConfigMap(arena, namespace, { name, owner: never });
  await using watching = await watchConfigMaps(arena, namespace, resourceVersion);
  await watching.gone(name, SEEN_MS);
}

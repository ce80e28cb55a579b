import type { ApiAnswer, ApiConnection } from '../../../../../packages/kube-api/connection.ts';
import type { ApiRequest } from '../../../../../packages/kube-api/send.ts';
import { ServerClock } from '../../../../../packages/kube-api/server-clock.ts';
import { FleetGcError } from '../../../../../packages/process/errors.ts';
import { statusBody } from '../../../../packages/kube-api/support/fake-connection.ts';

/** An object as it is made; uid and resourceVersion are the cluster's own. */
export interface FakeObject {
  readonly resource: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

interface Stored {
  readonly resource: string;
  readonly metadata: Readonly<Record<string, unknown>> & { readonly uid: string };
}

const VERBS = ['delete', 'get', 'list', 'watch'];
interface FakeKind {
  /** Of the core group where it is not given. */
  readonly group?: string;
  readonly kind: string;
  readonly namespaced: boolean;
}
export const KINDS: Readonly<Record<string, FakeKind>> = {
  configmaps: { kind: 'ConfigMap', namespaced: true },
  secrets: { kind: 'Secret', namespaced: true },
  namespaces: { kind: 'Namespace', namespaced: false },
};

const DATE_MS = 1_800_000_000_000;

/** A little API server in memory, most of it of the core group: enough to list and watch metadata. */
export class FakeCluster {
  kinds: Readonly<Record<string, FakeKind>> = KINDS;
  /** What a list of this resource is answered with in place of its objects. */
  readonly refusals = new Map<string, number>();
  /** And how many seconds it asks to wait then. */
  retryAfter: number | null = null;
  /** The same for watches alone. */
  readonly watchRefusals = new Map<string, number>();
  /** What `/apis` is answered with in place of the groups. */
  groupsRefusal: ApiAnswer | null = null;
  /** What lists of these resources say as their version, as those of another server do. */
  readonly versions = new Map<string, string>();
  /** How far the clock of the API server was set. */
  clockSetByMs = 0;
  /** Whether nothing is answered at all. */
  isAway = false;
  readonly asked: ApiRequest[] = [];
  readonly #nowMs: () => number;
  readonly #objects = new Map<string, Stored>();
  readonly #watches = new Set<Watch>();
  #version = 100;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.put({ resource: 'namespaces', name: 'kube-system', uid: 'the-cluster' });
  }

  get version(): number {
    return this.#version;
  }

  /** As a restore of an older snapshot does. */
  goBack(version: number): void {
    this.#version = version;
  }

  put({ resource, name, namespace, uid = name, metadata = {} }: FakeObject): void {
    const isNew = !this.#objects.has(uid);
    const place = this.kinds[resource]?.namespaced === true ? { namespace: namespace ?? 'ns' } : {};
    const stored = {
      resource,
      metadata: { name, ...place, ...metadata, uid, resourceVersion: String(++this.#version) },
    };
    this.#objects.set(uid, stored);
    this.#tell(stored, isNew ? 'ADDED' : 'MODIFIED');
  }

  remove(uid: string): void {
    const stored = this.#objects.get(uid);
    if (stored === undefined) throw new Error(`there is no ${uid}`);
    this.#objects.delete(uid);
    const metadata = { ...stored.metadata, resourceVersion: String(++this.#version) };
    this.#tell({ ...stored, metadata }, 'DELETED');
  }

  /** Every watch ends with an event that says 410. */
  expireWatches(): void {
    for (const watch of this.#watches)
      watch.push(`${JSON.stringify({ type: 'ERROR', object: statusBody(410, 'Expired') })}\n`);
  }

  /** The watches of one resource tell this, also those that are silent otherwise. */
  tell(resource: string, event: object): void {
    for (const watch of this.#watches)
      if (watch.resource === resource) watch.push(`${JSON.stringify(event)}\n`);
  }

  /** Every watch ends, as when the API server does. */
  closeWatches(): void {
    for (const watch of this.#watches) watch.close();
    this.#watches.clear();
  }

  /** Objects as they were once. */
  remember(): () => void {
    const then = new Map(this.#objects);
    return () => {
      this.#objects.clear();
      for (const [uid, stored] of then) this.#objects.set(uid, stored);
    };
  }

  /** What happens from now on is told to nobody, until `expireWatches`. */
  silence(): void {
    for (const watch of this.#watches) watch.isDeaf = true;
  }

  readonly connection = (): ApiConnection => {
    const clock = new ServerClock();
    const answer = (request: ApiRequest): ApiAnswer => {
      this.asked.push(request);
      if (this.isAway) throw new FleetGcError('API_UNREACHABLE', 'away');
      const nowMs = this.#nowMs();
      clock.told({
        dateMs: DATE_MS + this.clockSetByMs + Math.floor(nowMs / 1_000) * 1_000,
        sentAtMs: nowMs,
        receivedAtMs: nowMs,
      });
      return this.#answer(request);
    };
    return {
      clock,
      call: async (request) => answer(request),
      stream: async (request, signal) => {
        const { status, headers, body } = answer(request);
        const url = new URL(request.path, 'http://x');
        const watch = new Watch(resourceOf(url), signal);
        if (status === 200) this.#watches.add(watch);
        else watch.push(`${body}\n`);
        return { status, headers, body: watch.read() };
      },
      [Symbol.dispose]: () => undefined,
    };
  };

  #answer({ path }: ApiRequest): ApiAnswer {
    const ok = (body: unknown): ApiAnswer => ({ status: 200, headers: {}, body: JSON.stringify(body) });
    const url = new URL(path, 'http://x');
    if (url.pathname === '/api') return ok(this.#discovery(['']));
    if (url.pathname === '/apis') return this.groupsRefusal ?? ok(this.#discovery(this.#groups()));
    if (url.pathname === '/api/v1/namespaces/kube-system')
      return ok({
        metadata: [...this.#objects.values()].find(({ metadata }) => metadata.name === 'kube-system')
          ?.metadata,
      });
    const resource = resourceOf(url);
    const refused = this.#refusalOf(resource, url.searchParams.has('watch'));
    if (refused !== null) return refused;
    if (this.kinds[resource] === undefined) return { status: 404, headers: {}, body: '404 page not found' };
    const items = [...this.#objects.values()].filter((each) => each.resource === resource);
    return ok({
      metadata: { resourceVersion: this.versions.get(resource) ?? String(this.#version) },
      items: items.map(({ metadata }) => ({ metadata })),
    });
  }

  #refusalOf(resource: string, isWatch: boolean): ApiAnswer | null {
    const status = (isWatch ? this.watchRefusals.get(resource) : undefined) ?? this.refusals.get(resource);
    if (status === undefined) return null;
    const headers = this.retryAfter === null ? {} : { 'retry-after': String(this.retryAfter) };
    return { status, headers, body: JSON.stringify(statusBody(status, 'Refused')) };
  }

  #groups(): readonly string[] {
    return [...new Set(Object.values(this.kinds).flatMap(({ group }) => group ?? []))];
  }

  #discovery(groups: readonly string[]) {
    return {
      kind: 'APIGroupDiscoveryList',
      items: groups.map((name) => ({
        metadata: { name },
        versions: [{ version: 'v1', resources: this.#resourcesOf(name) }],
      })),
    };
  }

  #resourcesOf(asked: string) {
    return Object.entries(this.kinds).flatMap(([resource, { group = '', kind, namespaced }]) =>
      group === asked
        ? {
            resource,
            responseKind: { group, version: 'v1', kind },
            scope: namespaced ? 'Namespaced' : 'Cluster',
            verbs: VERBS,
          }
        : [],
    );
  }

  #tell({ resource, metadata }: Stored, type: string): void {
    for (const watch of this.#watches)
      if (watch.resource === resource && !watch.isDeaf)
        watch.push(`${JSON.stringify({ type, object: { metadata } })}\n`);
  }
}

const resourceOf = (url: URL): string => url.pathname.split('/').at(-1) ?? '';

/** What one reader has not read yet. */
class Watch {
  readonly resource: string;
  readonly #signal: AbortSignal;
  readonly #lines: string[] = [];
  isDeaf = false;
  #isClosed = false;
  #wake: () => void = () => undefined;

  constructor(resource: string, signal: AbortSignal) {
    this.resource = resource;
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#wake(), { once: true });
  }

  push(line: string): void {
    this.#lines.push(line);
    this.#wake();
  }

  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  async *read(): AsyncGenerator<Buffer> {
    while (!this.#signal.aborted) {
      for (let line = this.#lines.shift(); line !== undefined; line = this.#lines.shift())
        yield Buffer.from(line);
      if (this.#isClosed) return;
      if (this.#signal.aborted) break;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    throw this.#signal.reason;
  }
}

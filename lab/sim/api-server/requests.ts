import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ApiKind, ApiObjectName } from '../../../packages/kube-api/resources.ts';
import {
  type Answer,
  formOf,
  notServed,
  type ObjectForm,
  ok,
  refusal,
  toldAnswer,
  toldList,
} from './answers.ts';
import { PROPAGATIONS, type Propagation, type SimulatedCluster } from './cluster.ts';
import { type ApiObject, hasStatusApart } from './objects.ts';
import type { WatchRequest } from './watch.ts';

/** A request as it came; whose it is was looked at before. */
export interface ApiCall {
  readonly method: string;
  readonly url: URL;
  readonly accept: string;
  readonly contentType: string;
  readonly ifNoneMatch: string | null;
  readonly body: string;
}

/** Whose behaviour it plays. */
const VERSION = { major: '1', minor: '34', gitVersion: 'v1.34.2+simulated' };

/** Answers what is asked of a cluster; what it does not play it refuses, and says so. */
export class ApiRequests {
  readonly #cluster: SimulatedCluster;
  readonly #pages = new ListPages();

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster;
  }

  /** A watch is a request that goes on. */
  answer(call: ApiCall): Answer | WatchRequest {
    const { pathname } = call.url;
    if (pathname === '/version') return ok(VERSION);
    if (pathname === '/api' || pathname === '/apis')
      return discovery(this.#cluster.kinds, { ...call, isCore: pathname === '/api' });
    const place = placeOf(pathname, this.#cluster.kinds);
    if (place === null) return notServed();
    const form = formOf(call.accept);
    if (form === null) return refusal('NotAcceptable', 'only JSON is told, of whole objects or metadata');
    return place.name === null
      ? this.#aboutAll(call, place, form)
      : toldAnswer(this.#aboutOne(call, place, { ...inNamespace(place), name: place.name }), form);
  }

  #aboutAll(call: ApiCall, place: Place, form: ObjectForm): Answer | WatchRequest {
    if (call.method === 'POST') return toldAnswer(this.#create(call, place), form);
    if (call.method !== 'GET') return notAllowed(call.method);
    const query = ListQuery.safeParse(queryOf(call));
    if (!query.success) return badQuery();
    const { watch, resourceVersion, timeoutSeconds, allowWatchBookmarks, limit } = query.data;
    if (!watch) return this.#list(place, form, { limit, token: query.data.continue });
    if (resourceVersion === 0) return refusal('BadRequest', 'a watch has to begin at a resourceVersion');
    const timeoutMs = timeoutSeconds * 1_000;
    return { ...place, form, from: resourceVersion, hasBookmarks: allowWatchBookmarks, timeoutMs };
  }

  #list(
    { kind, namespace }: Place,
    form: ObjectForm,
    { limit, token }: { readonly limit: number; readonly token: string },
  ): Answer {
    const { store } = this.#cluster;
    const snapshot = { objects: store.list(kind, namespace), resourceVersion: String(store.version) };
    const page = token === '' ? this.#pages.first(snapshot, limit) : this.#pages.further(token, limit);
    if (page === 'unknown') return refusal('BadRequest', 'no list was continued with this token');
    if (page === 'expired') return refusal('Expired', 'the list is too old to be continued');
    return ok(toldList(kind, page, form));
  }

  #create(call: ApiCall, { kind, namespace }: Place): Answer {
    const query = WriteQuery.safeParse(queryOf(call));
    if (!query.success) return badQuery();
    if (kind.namespaced && namespace === null) return notAllowed('POST without a namespace');
    return this.#withBody(call, (body) =>
      this.#cluster.create(kind, namespace ?? '', body, query.data.dryRun === 'All'),
    );
  }

  #aboutOne(call: ApiCall, { kind, isStatus }: Place, named: ApiObjectName): Answer {
    const query = (call.method === 'GET' ? NoQuery : WriteQuery).safeParse(queryOf(call));
    if (!query.success) return badQuery();
    const isDryRun = 'dryRun' in query.data && query.data.dryRun === 'All';
    if (isStatus && call.method !== 'PATCH') return notAllowed(`${call.method} of a status`);
    switch (call.method) {
      case 'GET':
        return this.#cluster.read(kind, named);
      case 'DELETE':
        return this.#withBody(call, (body) => this.#delete(kind, named, body, isDryRun));
      case 'PATCH':
        if (call.contentType !== MERGE_PATCH)
          return refusal('UnsupportedMediaType', `of patches only ${MERGE_PATCH} is known`);
        return this.#withBody(call, (body) =>
          isStatus
            ? this.#cluster.patchStatus(kind, named, body, isDryRun)
            : this.#cluster.patch(kind, named, body, isDryRun),
        );
      default:
        return notAllowed(call.method);
    }
  }

  #delete(kind: ApiKind, named: ApiObjectName, body: unknown, isDryRun: boolean): Answer {
    const options = DeleteBody.safeParse(body);
    if (!options.success) return refusal('BadRequest', 'the options of the deletion are not valid');
    const { preconditions, propagationPolicy, orphanDependents, dryRun } = options.data;
    if (propagationPolicy !== undefined && orphanDependents !== undefined)
      return refusal('Invalid', 'orphanDependents and propagationPolicy say the same, and only one may');
    return this.#cluster.delete(kind, named, {
      propagation: propagationPolicy ?? legacyPropagation(orphanDependents),
      ...preconditions,
      isDryRun: isDryRun || dryRun.includes('All'),
    });
  }

  #withBody({ body }: ApiCall, use: (body: unknown) => Answer): Answer {
    try {
      return use(body === '' ? {} : JSON.parse(body));
    } catch (error) {
      if (error instanceof SyntaxError) return refusal('BadRequest', 'the body is no JSON');
      throw error;
    }
  }
}

const MERGE_PATCH = 'application/merge-patch+json';
const LONGEST_WATCH_SECONDS = 3_600;

const inNamespace = ({ namespace }: Place) => ({ namespace: namespace ?? '' });

const Count = z.coerce.number().int().nonnegative();
const Flag = z.enum(['true', 'false', '1', '0']).transform((text) => text === 'true' || text === '1');
/** Strict: what is not played is refused. */
const ListQuery = z.strictObject({
  watch: Flag.default(false),
  allowWatchBookmarks: Flag.default(false),
  resourceVersion: Count.default(0),
  timeoutSeconds: Count.max(LONGEST_WATCH_SECONDS).default(LONGEST_WATCH_SECONDS),
  limit: Count.default(0),
  continue: z.string().default(''),
});
const WriteQuery = z.strictObject({ dryRun: z.literal('All').optional() });
const NoQuery = z.strictObject({});
/** Grace is not played: nobody runs the pods. */
const DeleteBody = z.looseObject({
  propagationPolicy: z.enum(PROPAGATIONS).optional(),
  orphanDependents: z.boolean().optional(),
  preconditions: z.object({ uid: z.string().optional(), resourceVersion: z.string().optional() }).default({}),
  dryRun: z.array(z.literal('All')).default([]),
});

/** As old clients say it. */
const legacyPropagation = (orphanDependents: boolean | undefined): Propagation | null => {
  if (orphanDependents === undefined) return null;
  return orphanDependents ? 'Orphan' : 'Background';
};

const queryOf = ({ url }: ApiCall): Readonly<Record<string, string>> => Object.fromEntries(url.searchParams);

const badQuery = (): Answer =>
  refusal('BadRequest', 'the query asks for what this simulated API server does not play');

const notAllowed = (what: string): Answer => refusal('MethodNotAllowed', `${what} is not played here`);

/** What a path is about. */
interface Place {
  readonly kind: ApiKind;
  /** `null` for all namespaces, and for kinds without one. */
  readonly namespace: string | null;
  /** `null` for a collection. */
  readonly name: string | null;
  /** Whether it is the status of the object, which some kinds have apart. */
  readonly isStatus: boolean;
}

const SERVED_PATH = /^\/(?:api|apis\/([^/]+))\/([^/]+)\/(.+)$/;

/** `null` for a path that nobody serves. */
function placeOf(path: string, kinds: readonly ApiKind[]): Place | null {
  const [, group = '', version, rest] = SERVED_PATH.exec(path) ?? [];
  const parts = decoded(rest ?? '');
  const isNamespaced = parts[0] === 'namespaces' && parts.length > 2;
  const [resource, name = null, ...below] = isNamespaced ? parts.slice(2) : parts;
  const kind = kinds.find(
    (each) => each.group === group && each.version === version && each.resource === resource,
  );
  const isStatus = below.join('/') === 'status';
  if (kind === undefined || !isWithin(kind, below)) return null;
  const place = { kind, namespace: isNamespaced ? (parts[1] ?? null) : null, name, isStatus };
  return isServed(place) ? place : null;
}

/** Nothing lies below an object but the status of some kinds. */
const isWithin = (kind: ApiKind, below: readonly string[]): boolean =>
  below.length === 0 || (below.join('/') === 'status' && hasStatusApart(kind));

const isServed = ({ kind, namespace, name }: Omit<Place, 'isStatus'>): boolean =>
  kind.namespaced ? namespace !== null || name === null : namespace === null;

/** Nothing for what is no text. */
function decoded(path: string): readonly string[] {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch {
    return [];
  }
}

/** A list as it was when its first page was asked for. */
interface Snapshot {
  readonly objects: readonly ApiObject[];
  readonly resourceVersion: string;
}

interface ListPage extends Snapshot {
  /** Empty at the end of the list. */
  readonly next: string;
  readonly left: number;
}

/** Further pages of older lists are refused as expired. */
const MAX_SNAPSHOTS = 100;
const TOKEN = /^page-(\d{1,15})-(\d{1,15})$/;

/** The pages of a list belong together, whatever happens between them. */
class ListPages {
  readonly #snapshots = new Map<number, Snapshot>();
  #lastId = 0;

  first(snapshot: Snapshot, limit: number): ListPage {
    const id = ++this.#lastId;
    const page = pageOf(snapshot, { id, from: 0, limit });
    if (page.left > 0) this.#keep(id, snapshot);
    return page;
  }

  /** `limit`: 0 for all that is left. */
  further(token: string, limit: number): ListPage | 'expired' | 'unknown' {
    const [, id, from] = TOKEN.exec(token) ?? [];
    if (id === undefined || from === undefined) return 'unknown';
    const snapshot = this.#snapshots.get(Number(id));
    return snapshot === undefined
      ? 'expired'
      : pageOf(snapshot, { id: Number(id), from: Number(from), limit });
  }

  #keep(id: number, snapshot: Snapshot): void {
    this.#snapshots.set(id, snapshot);
    for (const oldest of this.#snapshots.keys())
      if (this.#snapshots.size > MAX_SNAPSHOTS) this.#snapshots.delete(oldest);
  }
}

function pageOf(
  { objects, resourceVersion }: Snapshot,
  { id, from, limit }: { readonly id: number; readonly from: number; readonly limit: number },
): ListPage {
  const end = limit === 0 ? objects.length : Math.min(from + limit, objects.length);
  const left = objects.length - end;
  const next = left === 0 ? '' : `page-${id}-${end}`;
  return { objects: objects.slice(from, end), resourceVersion, next, left };
}

const VERBS = ['create', 'delete', 'get', 'list', 'patch', 'watch'];
const AGGREGATED = 'as=APIGroupDiscoveryList';

/** What `/api` (the core group) and `/apis` (all others) answer: aggregated discovery, and no other form. */
function discovery(
  kinds: readonly ApiKind[],
  asked: { readonly isCore: boolean; readonly accept: string; readonly ifNoneMatch: string | null },
): Answer {
  if (!asked.accept.includes(AGGREGATED))
    return refusal('NotAcceptable', 'this simulated API server knows aggregated discovery alone');
  const own = kinds.filter(({ group }) => (group === '') === asked.isCore);
  const body = {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: [...Map.groupBy(own, ({ group }) => group)].map(([name, ofGroup]) => groupItem(name, ofGroup)),
  };
  const etag = `"${createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 32)}"`;
  return asked.ifNoneMatch === etag ? { status: 304, body: null, etag } : { status: 200, body, etag };
}

const groupItem = (name: string, kinds: readonly ApiKind[]): object => ({
  metadata: { ...(name !== '' && { name }) },
  versions: [...Map.groupBy(kinds, ({ version }) => version)].map(([version, ofVersion]) => ({
    version,
    freshness: 'Current',
    resources: ofVersion.map(resourceItem),
  })),
});

const resourceItem = ({ group, version, kind, resource, namespaced }: ApiKind): object => ({
  resource,
  responseKind: { group, version, kind },
  scope: namespaced ? 'Namespaced' : 'Cluster',
  singularResource: kind.toLowerCase(),
  verbs: VERBS,
});

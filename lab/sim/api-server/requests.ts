import { z } from 'zod';
import type { ApiKind, ApiObjectName } from '../../../packages/kube-api/resources.ts';
import { type Answer, notServed, ok, refusal } from './answers.ts';
import type { SimulatedCluster } from './cluster.ts';
import { PROPAGATIONS, type Propagation } from './deletion.ts';
import { discovery } from './discovery.ts';
import { formOf, type ObjectForm, toldAnswer, toldList } from './forms.ts';
import { ListPages } from './list-pages.ts';
import { type Place, placeOf } from './place.ts';
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

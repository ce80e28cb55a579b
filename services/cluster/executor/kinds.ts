import { z } from 'zod';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import { type Discovery, discover } from '../../../packages/kube-api/discovery.ts';
import {
  type Created,
  METADATA_FORM,
  type ObjectForm,
  type ObjectMetadata,
  readMetadata,
  wholeForm,
} from '../../../packages/kube-api/metadata.ts';
import type { LiveObject } from '../../../packages/kube-api/read.ts';
import { type ApiObjectName, hasPath, isBuiltIn } from '../../../packages/kube-api/resources.ts';
import { withMissingRight } from '../../../packages/kube-api/status.ts';
import { groupOf } from '../../../packages/owner-graph/kinds.ts';
import type { ClusterObject, ServedKind } from '../../../schemas/events/cluster-objects.ts';
import { isSurelyUnserved, referenceKey, type ServedKinds, servedKinds, watchKey } from '../agent/kinds.ts';
import { failed, later, maySoonBeKnown, refused, type Stop } from './order.ts';
import { Proofs } from './proofs.ts';

/** What is served is asked again after so long (cluster I2). */
const DISCOVER_AFTER_MS = 30_000;
/** And so much sooner where a kind is asked for that is not known. */
const DISCOVER_GAP_MS = 1_000;

/** Which kinds the API server serves, as it says itself: no order is believed in that (cluster H2, I9). */
export class KindCatalog {
  readonly #nowMs: () => number;
  #known: { readonly discovery: Discovery; readonly served: ServedKinds; readonly atMs: number } | null =
    null;
  #asking: Promise<ServedKinds> | null = null;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The kind of an object that an order names; `null` for one that is not collected, or of another form (cluster I1, N9). */
  async kindOf(object: ClusterObject, connection: ApiConnection): Promise<ServedKind | null> {
    return this.#find(connection, ({ collectable, failedGroups }) => {
      const kind = collectable.get(watchKey(object));
      const isThat = kind?.kind === object.kind && kind.namespaced === object.namespaced;
      return isThat && !failedGroups.has(kind.group) ? kind : null;
    });
  }

  /** The kind that a reference names; `null` where it is not served, or not for sure (cluster D9, H5). */
  async ownerKind(apiVersion: string, kind: string, connection: ApiConnection): Promise<ServedKind | null> {
    return this.#find(connection, ({ byReference, failedGroups }) => {
      const found = byReference.get(referenceKey(apiVersion, kind));
      if (found === undefined || found === 'ambiguous') return null;
      return failedGroups.has(groupOf(apiVersion)) ? null : found;
    });
  }

  /** Whether kinds can be defined there, as far as anybody knows. */
  async hasDefinitions(connection: ApiConnection): Promise<boolean> {
    const { groups, failedGroups } = await this.#served(connection, DISCOVER_AFTER_MS);
    return groups.has(DEFINITIONS.group) || failedGroups.has(DEFINITIONS.group);
  }

  /** Whether an answer of this moment was whole, and lacks the kind in each version (cluster S17). */
  async isUnserved(kind: ServedKind, connection: ApiConnection): Promise<boolean> {
    return isSurelyUnserved(await this.#served(connection, DISCOVER_GAP_MS), kind);
  }

  async #find(
    connection: ApiConnection,
    find: (served: ServedKinds) => ServedKind | null,
  ): Promise<ServedKind | null> {
    return (
      find(await this.#served(connection, DISCOVER_AFTER_MS)) ??
      find(await this.#served(connection, DISCOVER_GAP_MS))
    );
  }

  /** Not older than this. Rejects where the API server does not tell: what was known may not hold any more. */
  async #served(connection: ApiConnection, mostMs: number): Promise<ServedKinds> {
    if (this.#known !== null && this.#nowMs() - this.#known.atMs < mostMs) return this.#known.served;
    this.#asking ??= this.#ask(connection).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #ask(connection: ApiConnection): Promise<ServedKinds> {
    const atMs = this.#nowMs();
    const before = this.#known;
    const discovery = (await discover(connection, before?.discovery ?? null)) ?? before?.discovery;
    const served =
      discovery === before?.discovery || discovery === undefined
        ? before?.served
        : servedKinds(discovery.groups);
    if (discovery === undefined || served === undefined)
      throw new TypeError('nothing changed since nothing was known');
    this.#known = { discovery, served, atMs };
    return served;
  }
}

const DEFINITIONS = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  resource: 'customresourcedefinitions',
  namespaced: false,
} as const satisfies ServedKind;

export const definitionName = ({ resource, group }: Pick<ServedKind, 'group' | 'resource'>): string =>
  `${resource}.${group}`;

/** What defines a kind. */
export interface KindDefinition {
  readonly isGoing: boolean;
  /** Epoch milliseconds, in whole seconds; `null` where it does not say. */
  readonly createdAtMs: number | null;
}

/**
 * A kind that was served for so long without a definition has none. Right after its definition went an API server may still serve it.
 * @limit Time without a definition after which a kind counts as removed.
 */
const WITHOUT_FOR_MS = 5_000;
/** What was seen longer ago says nothing: a definition may have come and gone since. */
const SEEN_WITHIN_MS = 30_000;
const MOST_WITHOUT = 500;

const FORBIDDEN = 403;

type ReadDefinition = (place: {
  readonly kind: ServedKind;
  readonly named: ApiObjectName;
}) => Promise<LiveObject<Created>>;

interface Without {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** What was read a moment ago of the definitions of owners that are absent, whoever read it. */
export class KindDefinitions {
  readonly #nowMs: () => number;
  readonly #proofs: Proofs<KindDefinition | 'none'>;
  readonly #asking = new Map<string, Promise<unknown>>();
  readonly #without = new Map<string, Without>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#proofs = new Proofs(nowMs);
  }

  /**
   * What defines a kind, as it was read after this time. What was read before an owner was found absent says nothing of how it went: the
   * definition may have been deleted in between, and the owner with it. `none`: a kind of the API server itself, or an aggregated one.
   */
  async of(kind: ServedKind, sinceMs: number, read: ReadDefinition): Promise<KindDefinition | 'none' | Stop> {
    const named = { namespace: '', name: definitionName(kind) };
    if (!hasPath(DEFINITIONS, named)) return 'none';
    for (;;) {
      const known = this.#proofs.get(named.name);
      const askedAtMs = this.#proofs.askedAtMs(named.name) ?? Number.NEGATIVE_INFINITY;
      if (known !== undefined && askedAtMs >= sinceMs) return known;
      const ahead = this.#asking.get(named.name);
      if (ahead === undefined) break;
      await ahead.catch(() => undefined);
    }
    const asking = this.#ask(named, read);
    this.#asking.set(named.name, asking);
    try {
      return await asking;
    } finally {
      this.#asking.delete(named.name);
    }
  }

  async #ask(named: ApiObjectName, read: ReadDefinition): Promise<KindDefinition | 'none' | Stop> {
    const askedAtMs = this.#nowMs();
    const live = await read({ kind: DEFINITIONS, named });
    if (live.kind === 'unknown') return unknownDefinition(live, named.name);
    if (live.kind === 'absent') return this.#absent(named.name, askedAtMs);
    const { deletionTimestamp, createdAtMs } = live.object;
    const definition = { isGoing: deletionTimestamp !== null, createdAtMs };
    this.#without.delete(named.name);
    this.#proofs.add(named.name, definition, askedAtMs);
    return definition;
  }

  #absent(name: string, askedAtMs: number): 'none' | Stop {
    const before = this.#without.get(name);
    const isKnown = before !== undefined && askedAtMs - before.lastMs < SEEN_WITHIN_MS;
    const firstMs = isKnown ? before.firstMs : askedAtMs;
    this.#without.delete(name);
    this.#without.set(name, { firstMs, lastMs: askedAtMs });
    const [oldest] = this.#without.keys();
    if (this.#without.size > MOST_WITHOUT && oldest !== undefined) this.#without.delete(oldest);
    if (askedAtMs - firstMs < WITHOUT_FOR_MS)
      return later(
        'api-server-error',
        `whether the definition ${name} has just gone is not known yet`,
        WITHOUT_FOR_MS,
      );
    this.#proofs.add(name, 'none', askedAtMs);
    return 'none';
  }
}

/** Without it nobody knows whether the owner went with its kind (cluster S3). */
function unknownDefinition(live: Extract<LiveObject, { kind: 'unknown' }>, name: string): Stop {
  const soon = maySoonBeKnown(live);
  if (soon !== null) return soon;
  const why = withMissingRight(live.message, DEFINITIONS);
  const message = `it stays, since nobody knows whether its owner went with the definition ${name}, which cannot be read: ${why}`;
  return live.answer.status === FORBIDDEN
    ? failed({ reason: 'forbidden', message })
    : refused('owner-unknown', message);
}

/** Where an object lies. */
export interface Place {
  readonly kind: ServedKind;
  readonly named: ApiObjectName;
}

const API_SERVICES = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  kind: 'APIService',
  resource: 'apiservices',
  namespaced: false,
} as const satisfies ServedKind;

interface ApiService extends ObjectMetadata {
  /** The API server itself serves the version: it registers each version of definitions so. */
  readonly isLocal: boolean;
}

const Spec = z.object({ spec: z.object({ service: z.unknown().optional() }) });

const API_SERVICE_FORM: ObjectForm<ApiService> = wholeForm((value) => {
  const metadata = readMetadata(value);
  const spec = Spec.safeParse(value);
  return (
    metadata && {
      ...metadata,
      isLocal: spec.success && (spec.data.spec.service === undefined || spec.data.spec.service === null),
    }
  );
});

interface WithdrawnReads {
  /** Whether the API server, asked just now, told all that it serves and lacks the kind. */
  readonly isUnserved: () => Promise<boolean>;
  readonly read: <Seen extends ObjectMetadata>(
    place: Place,
    form: ObjectForm<Seen>,
  ) => Promise<LiveObject<Seen>>;
}

/**
 * Why a kind does not count as withdrawn; `null` where everything that could serve it is not there. What fails, and what cannot be
 * read, leaves it open (cluster S17).
 */
export async function objectionToWithdrawn(
  kind: ServedKind,
  { isUnserved, read }: WithdrawnReads,
): Promise<Stop | null> {
  const name = definitionName(kind);
  const definition = { kind: DEFINITIONS, named: { namespace: '', name } };
  const service = { kind: API_SERVICES, named: { namespace: '', name: `${kind.version}.${kind.group}` } };
  const arePaths = hasPath(DEFINITIONS, definition.named) && hasPath(API_SERVICES, service.named);
  if (isBuiltIn(kind) || !arePaths) return stays(name, 'no definition can be that of the kind');

  // 1. Discovery is whole and lacks the kind.
  if (!(await isUnserved()))
    return stays(name, 'the API server serves the kind, or does not tell all that it serves');

  // 2. No aggregated API stands for the version: it may only be down.
  const registered = await read(service, API_SERVICE_FORM);
  if (registered.kind === 'unknown') return unknown(registered, service);
  if (registered.kind === 'found' && !registered.object.isLocal)
    return stays(name, `the APIService ${service.named.name} stands for an aggregated API`);

  // 3. The definition is not there. One that is made anew is there before its kind is served again.
  const defined = await read(definition, METADATA_FORM);
  if (defined.kind === 'unknown') return unknown(defined, definition);
  return defined.kind === 'found' ? stays(name, 'the definition is there') : null;
}

const stays = (definition: string, why: string): Stop =>
  refused(
    'owner-unknown',
    `it stays, since the definition ${definition} of its owner may not be gone: ${why}`,
  );

function unknown(live: Extract<LiveObject, { kind: 'unknown' }>, { kind, named }: Place): Stop {
  const soon = maySoonBeKnown(live);
  if (soon !== null) return soon;
  const message = `it stays, since the ${kind.kind} ${named.name} cannot be read: ${withMissingRight(live.message, kind)}`;
  return live.answer.status === FORBIDDEN
    ? failed({ reason: 'forbidden', message })
    : refused('owner-unknown', message);
}

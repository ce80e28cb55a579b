import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { type Discovery, discover } from '../../../../packages/kube-api/discovery.ts';
import { groupOf } from '../../../../packages/owner-graph/kinds.ts';
import type { ClusterObject, ServedKind } from '../../../../schemas/events/cluster-objects.ts';
import {
  isSurelyUnserved,
  referenceKey,
  type ServedKinds,
  servedKinds,
  watchKey,
} from '../../agent/kinds/served-kinds.ts';
import { DEFINITIONS } from './kind-definitions.ts';

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

import type { GraphObject } from '../../../../packages/owner-graph/graph-object.ts';
import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';
import { Listing, type OwnerIndex } from '../../../../packages/owner-graph/owner-index.ts';

import { kindName } from '../../../../schemas/events/cluster-objects.ts';
import type { Definitions } from './definitions.ts';

interface Begun {
  readonly listing: Listing;
  /** The definition of the kind when the list began; `null` for a kind without one. */
  readonly definitionUid: string | null;
}

/** Lists under way, one of each kind. */
export class Listings {
  readonly #index: OwnerIndex;
  readonly #definitions: Definitions;
  readonly #begun = new Map<ResourceKind, Begun>();
  readonly #listedOnce = new Set<string>();

  constructor(index: OwnerIndex, definitions: Definitions) {
    this.#index = index;
    this.#definitions = definitions;
  }

  begin(kind: ResourceKind): void {
    const listing = new Listing(this.#index, kind, !this.#listedOnce.has(kindName(kind)));
    this.#begun.set(kind, { listing, definitionUid: this.#definitions.uidOf(kind) });
  }

  /** `undefined` where none is under way. */
  of(kind: ResourceKind): Listing | undefined {
    return this.#begun.get(kind)?.listing;
  }

  /** It is whole: `noteGone` is told of what it lacks before the kind counts as that of the definition that is there (cluster S3). */
  end(kind: ResourceKind, noteGone: (gone: readonly GraphObject[]) => void): void {
    const begun = this.#begun.get(kind);
    noteGone(begun?.listing.complete() ?? []);
    this.#definitions.listed(kind, begun?.definitionUid ?? null);
    this.#begun.delete(kind);
    this.#listedOnce.add(kindName(kind));
  }

  failed(kind: ResourceKind): void {
    this.#begun.delete(kind);
  }

  /** The next list of it will be its first. */
  withdraw(kind: ResourceKind): void {
    this.#listedOnce.delete(kindName(kind));
  }
}

import type { Candidacy } from '../../../packages/owner-graph/candidacy.ts';
import { CascadeWidths } from '../../../packages/owner-graph/cascade.ts';
import { goneObject } from '../../../packages/owner-graph/gone-objects.ts';
import type { GraphObject } from '../../../packages/owner-graph/graph-object.ts';
import type { OwnerIndex } from '../../../packages/owner-graph/owner-index.ts';
import type { StatedReference } from '../../../packages/owner-graph/reference-states.ts';
import { letsGo, ownerKindOf } from './candidates.ts';
import type { EarlierFacts } from './earlier-facts.ts';
import type { Definitions } from './kinds.ts';

const WITH_ITS_KIND = { orphaned: false, within: null, isDeletionSeen: false } as const;

/** What has to be known of owners that are not there: how much goes with each, and how it went (cluster S1, S3, S6). */
export class MissingOwners {
  readonly widths: CascadeWidths;
  readonly #index: OwnerIndex;
  readonly #definitions: Definitions;
  #remembered: EarlierFacts['gone'] = new Map();

  constructor(index: OwnerIndex, definitions: Definitions) {
    this.#index = index;
    this.#definitions = definitions;
    this.widths = new CascadeWidths(index);
  }

  /** Owners that earlier agents told of, by uid. */
  get remembered(): EarlierFacts['gone'] {
    return this.#remembered;
  }

  /** What earlier agents told. */
  remember({ gone, widths }: EarlierFacts): void {
    this.#remembered = gone;
    for (const [uid, owner] of gone) this.#index.gone.add(uid, owner);
    for (const [uid, width] of widths) this.widths.remember(uid, width);
  }

  /** Those that let a candidate go. */
  note({ object, references }: Candidacy): void {
    for (const stated of references) {
      if (letsGo(stated)) this.widths.of(stated.reference.uid, ownerKindOf(stated));
      this.#noteUnseen(object, stated);
    }
  }

  /** An owner that nobody saw go while its definition goes: for all that is known it went with it. */
  #noteUnseen({ namespace }: GraphObject, { reference, state, resolved: kind }: StatedReference): void {
    if (state !== 'unseen' || kind === null || !this.#definitions.isGoing(kind)) return;
    const owner = { kind, namespace: kind.namespaced ? namespace : '', name: reference.name };
    this.#index.gone.add(reference.uid, goneObject(owner, 'kind-going', WITH_ITS_KIND));
  }

  /** Those whose kind left: it may come back without them. */
  noteWithdrawn(owners: readonly GraphObject[]): void {
    for (const owner of owners)
      if (this.#index.countDependents(owner.uid) > 0)
        this.#index.gone.add(owner.uid, goneObject(owner, 'kind-going', WITH_ITS_KIND));
  }

  /** Those that went before it was known that their definition goes. Yields whom that concerns. */
  *noteGoingKinds(): Iterable<string> {
    const changed = this.#index.gone.kindIsGoing(
      (kind) => this.#definitions.isGoing(kind),
      (uid) => this.#index.countDependents(uid) > 0,
    );
    for (const owner of changed) for (const { uid } of this.#index.dependents(owner)) yield uid;
  }
}

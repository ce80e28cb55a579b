import type { GoneHow } from '../../schemas/events/ownership.ts';
import type { CascadeRoot, GraphObject } from './graph-object.ts';
import type { ResourceKind } from './kinds.ts';

export interface GoneObject {
  readonly kind: ResourceKind;
  readonly namespace: string;
  readonly name: string;
  readonly how: GoneHow;
  /** It was being deleted so that its dependents stay (cluster S6). */
  readonly orphaned: boolean;
  /** The owner with which it went; `null` for one that went by itself, or of which an earlier agent told. */
  readonly within: CascadeRoot | null;
  /** The watch of its kind told this agent of the deletion of this very object. No list tells that, and no earlier agent (cluster S17). */
  readonly isDeletionSeen: boolean;
}

/**
 * Of those from which nothing follows but that they are gone.
 * @limit Deleted objects that an agent remembers. A forgotten one counts as never seen.
 */
const MAX_GONE = 10_000;
/** Of those that keep what they left behind, beside all that somebody lists: who lists them may be read later. */
const MAX_KEEPING = 100_000;
/** So many more come before they are looked through again. */
const LOOK_AFTER = 10_000;

/** How an owner went that holds what it left behind until it is approved (cluster S3). */
const DOUBTFUL: ReadonlySet<GoneHow> = new Set<GoneHow>(['mass-relisted', 'kind-going']);

/** What it left behind is held, or lives on: forgotten, it would count as never seen, and they would go (cluster S3, S6). */
const keepsOthers = ({ how, orphaned }: GoneObject): boolean => orphaned || DOUBTFUL.has(how);

/** Objects that were seen and are gone. */
export class GoneObjects {
  /** Whether somebody still lists it as an owner. */
  readonly #isListed: (uid: string) => boolean;
  readonly #plain = new Map<string, GoneObject>();
  readonly #keeping = new Map<string, GoneObject>();
  #mostKeeping = MAX_KEEPING;

  constructor(isListed: (uid: string) => boolean) {
    this.#isListed = isListed;
  }

  get(uid: string): GoneObject | undefined {
    return this.#keeping.get(uid) ?? this.#plain.get(uid);
  }

  add(uid: string, gone: GoneObject): void {
    this.forget(uid);
    if (!keepsOthers(gone)) {
      this.#plain.set(uid, gone);
      if (this.#plain.size > MAX_GONE) forgetOldest(this.#plain, MAX_GONE);
      return;
    }
    this.#keeping.set(uid, gone);
    if (this.#keeping.size <= this.#mostKeeping) return;
    forgetOldest(this.#keeping, MAX_KEEPING, this.#isListed);
    this.#mostKeeping = this.#keeping.size + LOOK_AFTER;
  }

  /** Objects of a kind whose definition is being deleted: the news of both come in any order (cluster S3). */
  kindIsGoing(
    isOfKind: (kind: ResourceKind) => boolean,
    isAwaited: (uid: string) => boolean,
  ): readonly string[] {
    const changed = [...this.#plain, ...this.#keeping].filter(
      ([uid, gone]) => gone.how !== 'kind-going' && isOfKind(gone.kind) && isAwaited(uid),
    );
    for (const [uid, gone] of changed) this.add(uid, { ...gone, how: 'kind-going' });
    return changed.map(([uid]) => uid);
  }

  /** It is back, as after a restore. */
  forget(uid: string): void {
    this.#plain.delete(uid);
    this.#keeping.delete(uid);
  }
}

function forgetOldest(
  gone: Map<string, GoneObject>,
  most: number,
  stays: (uid: string) => boolean = () => false,
): void {
  for (const uid of gone.keys()) {
    if (gone.size <= most) return;
    if (!stays(uid)) gone.delete(uid);
  }
}

export const goneObject = (
  { kind, namespace, name }: Pick<GraphObject, 'kind' | 'namespace' | 'name'>,
  how: GoneHow,
  { orphaned, within, isDeletionSeen }: Pick<GoneObject, 'orphaned' | 'within' | 'isDeletionSeen'>,
): GoneObject => ({ kind, namespace, name, how, orphaned, within, isDeletionSeen });

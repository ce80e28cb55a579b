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
}

const MAX_GONE = 10_000;

/** Objects that were seen and are gone: the last ten thousand. */
export class GoneObjects {
  readonly #byUid = new Map<string, GoneObject>();

  get(uid: string): GoneObject | undefined {
    return this.#byUid.get(uid);
  }

  add(uid: string, gone: GoneObject): void {
    this.#byUid.delete(uid);
    this.#byUid.set(uid, gone);
    if (this.#byUid.size <= MAX_GONE) return;
    for (const oldest of this.#byUid.keys()) {
      this.#byUid.delete(oldest);
      return;
    }
  }

  /** Objects of a kind whose definition is being deleted: the news of both come in any order (cluster S3). */
  kindIsGoing(
    isOfKind: (kind: ResourceKind) => boolean,
    isAwaited: (uid: string) => boolean,
  ): readonly string[] {
    const changed: string[] = [];
    for (const [uid, gone] of this.#byUid) {
      if (gone.how === 'kind-going' || !isOfKind(gone.kind) || !isAwaited(uid)) continue;
      this.#byUid.set(uid, { ...gone, how: 'kind-going' });
      changed.push(uid);
    }
    return changed;
  }

  /** It is back, as after a restore. */
  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}

export const goneObject = (
  { kind, namespace, name }: Pick<GraphObject, 'kind' | 'namespace' | 'name'>,
  how: GoneHow,
  { orphaned, within }: Pick<GoneObject, 'orphaned' | 'within'>,
): GoneObject => ({ kind, namespace, name, how, orphaned, within });

import type { GraphObject, OwnerReference } from './graph-object.ts';
import { sameReferences } from './graph-object.ts';

/** So many different lists of finalizers and namespaces are kept once; further ones are kept as they come. */
const MOST_INTERNED = 10_000;
const NONE: readonly string[] = [];
const NO_REFERENCES: readonly OwnerReference[] = [];

/** Equal texts and lists once in memory: parsed objects each bring their own. */
export class Interned {
  readonly #texts = new Map<string, string>();
  readonly #lists = new Map<string, readonly string[]>();

  text(text: string): string {
    return once(this.#texts, text, () => text);
  }

  list(list: readonly string[]): readonly string[] {
    return list.length === 0 ? NONE : once(this.#lists, list.join('\n'), () => [...list]);
  }

  /**
   * The references of an object, of which `sibling` has the same owner: the pods of a ReplicaSet have one list between them. `uid`
   * gives the text of an owner's uid that is in memory already.
   */
  references(
    references: readonly OwnerReference[],
    sibling: GraphObject | undefined,
    ownerOf: (uid: string) => GraphObject | undefined,
  ): readonly OwnerReference[] {
    if (references.length === 0) return NO_REFERENCES;
    if (sibling !== undefined && sameReferences(references, sibling.references)) return sibling.references;
    return references.map((reference) => this.#reference(reference, ownerOf(reference.uid)));
  }

  #reference(reference: OwnerReference, owner: GraphObject | undefined): OwnerReference {
    return {
      apiVersion: this.text(reference.apiVersion),
      kind: this.text(reference.kind),
      name: owner?.name === reference.name ? owner.name : reference.name,
      uid: owner?.uid ?? reference.uid,
      controller: reference.controller,
      blockOwnerDeletion: reference.blockOwnerDeletion,
    };
  }
}

function once<Value>(known: Map<string, Value>, key: string, make: () => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  if (known.size < MOST_INTERNED) known.set(key, made);
  return made;
}

import type { GraphObject } from './graph-object.ts';
import type { StatedReference } from './reference-states.ts';

interface KnownObjects {
  get(uid: string): GraphObject | undefined;
  objects(): Iterable<GraphObject>;
}

/** Names are read anew after so long; a look at half a million objects takes a fraction of a second. */
const READ_AGAIN_MS = 5_000;
/** Names that nobody asked for in this time are let go: they take as much memory as the references do. */
const UNUSED_MS = 60_000;

/**
 * Objects that bear the name of an owner that was never seen, under another uid. A backup that was restored leaves them: children name
 * the owners of before, and owners of the same names live anew (cluster S16). The graph itself knows objects by uid alone.
 */
export class Namesakes {
  readonly #graph: KnownObjects;
  readonly #nowMs: () => number;
  /** Uids by kind, namespace and name. */
  #names: ReadonlyMap<string, string> = new Map();
  #readMs = Number.NEGATIVE_INFINITY;
  #usedMs = Number.NEGATIVE_INFINITY;
  /** Objects whose missing owners have namesakes. */
  readonly #objects = new Set<string>();

  constructor(graph: KnownObjects, nowMs: () => number) {
    this.#graph = graph;
    this.#nowMs = nowMs;
  }

  /** How many objects there are whose missing owners have namesakes. */
  get objects(): number {
    return this.#objects.size;
  }

  /** An object is a candidate with these references, or none any more. */
  note({ uid }: Pick<GraphObject, 'uid'>, hasNamesake: boolean): void {
    if (hasNamesake) this.#objects.add(uid);
    else this.#objects.delete(uid);
  }

  /** The uid of the namesake of an owner that was never seen; `undefined` where there is none. */
  of({ namespace }: GraphObject, { reference, state, resolved }: StatedReference): string | undefined {
    if (state !== 'unseen' || resolved === null) return undefined;
    const key = keyOf(resolved, resolved.namespaced ? namespace : '', reference.name);
    const uid = this.#known().get(key);
    const found = uid === undefined ? undefined : this.#graph.get(uid);
    const isThere = found !== undefined && keyOf(found.kind, found.namespace, found.name) === key;
    return isThere && found.uid !== reference.uid ? found.uid : undefined;
  }

  tidy(): void {
    if (this.#names.size === 0 || this.#nowMs() - this.#usedMs < UNUSED_MS) return;
    this.#names = new Map();
    this.#readMs = Number.NEGATIVE_INFINITY;
  }

  #known(): ReadonlyMap<string, string> {
    const nowMs = this.#nowMs();
    this.#usedMs = nowMs;
    if (nowMs - this.#readMs < READ_AGAIN_MS) return this.#names;
    this.#readMs = nowMs;
    this.#names = new Map(
      [...this.#graph.objects()].map(({ kind, namespace, name, uid }) => [keyOf(kind, namespace, name), uid]),
    );
    return this.#names;
  }
}

/** No name has a slash or a space. */
const keyOf = (
  { group, kind }: { readonly group: string; readonly kind: string },
  namespace: string,
  name: string,
): string => `${group}/${kind} ${namespace}/${name}`;

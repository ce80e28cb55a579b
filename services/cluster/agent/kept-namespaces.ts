import type { GraphObject } from '../../../packages/owner-graph/graph-object.ts';

export const isNamespace = ({ kind: { kind, group } }: GraphObject): boolean =>
  kind === 'Namespace' && group === '';

/** Whether the namespace is that by which clusters are told apart, and another one's than `clusterInstance`, its uid. */
export const isOfAnotherCluster = ({ name, uid }: GraphObject, clusterInstance: string | null): boolean =>
  name === 'kube-system' && clusterInstance !== null && uid !== clusterInstance;

/** Namespaces that bear the annotation that keeps all in them (cluster S5). */
export class KeptNamespaces {
  readonly #names = new Set<string>();

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Returns whether it changes what is kept. */
  put({ name, keep }: GraphObject): boolean {
    const wasKept = this.#names.has(name);
    if (keep) this.#names.add(name);
    else this.#names.delete(name);
    return wasKept !== keep;
  }

  gone({ name }: GraphObject): void {
    this.#names.delete(name);
  }
}

import type { GraphObject } from '../../../packages/owner-graph/graph-object.ts';
import { isSameKind, type ResourceKind } from '../../../packages/owner-graph/kinds.ts';

const CRD = { group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' } as const;
const API_SERVICE = { group: 'apiregistration.k8s.io', kind: 'APIService' } as const;

/** Objects that define other kinds, as the graph knows them. */
export class Definitions {
  /** Definitions by name, `<resource>.<group>`, with whether each is being deleted. */
  readonly #definitions = new Map<string, boolean>();
  /** `<version>.<group>`. */
  readonly #services = new Set<string>();

  /** Whether the object defines kinds, so that what is served may have changed (cluster I2). */
  static isDefining = ({ kind }: GraphObject): boolean =>
    isSameKind(kind, CRD) || isSameKind(kind, API_SERVICE);

  put({ kind, name, deletionTimestamp }: GraphObject): void {
    if (isSameKind(kind, CRD)) this.#definitions.set(name, deletionTimestamp !== null);
    if (isSameKind(kind, API_SERVICE)) this.#services.add(name);
  }

  gone({ kind, name }: GraphObject): void {
    if (isSameKind(kind, CRD)) this.#definitions.delete(name);
    if (isSameKind(kind, API_SERVICE)) this.#services.delete(name);
  }

  /** Whether objects say that a kind is there which discovery does not tell (cluster I9). */
  isDefined(kind: ResourceKind): boolean {
    const { resource, group, version } = kind;
    if (this.#definitions.has(`${resource}.${group}`)) return true;
    // No service stands for the group of services itself.
    return isSameKind(kind, API_SERVICE) ? this.#services.size > 0 : this.#isServedByOthers(version, group);
  }

  /** The definition of the kind is being deleted, and its objects with it (cluster S3). */
  isGoing({ resource, group }: ResourceKind): boolean {
    return this.#definitions.get(`${resource}.${group}`) === true;
  }

  /** Services also stand for groups of definitions; those of which one is known are asked by its name. */
  #isServedByOthers(version: string, group: string): boolean {
    const hasDefinitions = [...this.#definitions.keys()].some((name) => name.endsWith(`.${group}`));
    return !hasDefinitions && this.#services.has(`${version}.${group}`);
  }
}

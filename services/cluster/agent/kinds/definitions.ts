import type { GraphObject } from '../../../../packages/owner-graph/graph-object.ts';
import { isSameKind, type ResourceKind } from '../../../../packages/owner-graph/kinds.ts';

const CRD = { group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' } as const;
const API_SERVICE = { group: 'apiregistration.k8s.io', kind: 'APIService' } as const;

interface Definition {
  readonly uid: string;
  readonly isBeingDeleted: boolean;
}

/** Of definitions that went so many are remembered, the latest. */
const MOST_WENT = 10_000;

/** Objects that define other kinds, as the graph knows them. */
export class Definitions {
  /** By name, `<resource>.<group>`. */
  readonly #definitions = new Map<string, Definition>();
  /** Names of definitions that went, or are about to, until objects of another one were listed. */
  readonly #went = new Set<string>();
  /** When the watch told that a definition was deleted under whose name none is known since, in milliseconds that only grow. */
  readonly #deletedAtMs = new Map<string, number>();
  /** `<version>.<group>`. */
  readonly #services = new Set<string>();

  /** Whether the object defines kinds, so that what is served may have changed (cluster I2). */
  static isDefining = ({ kind }: GraphObject): boolean =>
    isSameKind(kind, CRD) || isSameKind(kind, API_SERVICE);

  /** Returns whether a kind is going since (cluster S3). */
  put({ kind, name, uid, deletionTimestamp }: GraphObject): boolean {
    if (isSameKind(kind, API_SERVICE)) this.#services.add(name);
    return isSameKind(kind, CRD) && this.#define(name, { uid, isBeingDeleted: deletionTimestamp !== null });
  }

  /** `deletedAtMs`: when the watch told of its deletion; `null` where it only left. Returns whether a kind is going since (cluster S3). */
  gone({ kind, name, uid }: GraphObject, deletedAtMs: number | null): boolean {
    if (isSameKind(kind, API_SERVICE)) this.#services.delete(name);
    return isSameKind(kind, CRD) && this.#undefine(name, uid, deletedAtMs);
  }

  /** The definition of the kind, by its uid; `null` where none is known. */
  uidOf(kind: ResourceKind): string | null {
    return this.#definitions.get(definitionOf(kind))?.uid ?? null;
  }

  /** The kind was listed whole, and this definition was there before: what is told of it from now on is none of an earlier one's. */
  listed(kind: ResourceKind, definitionUid: string | null): void {
    const name = definitionOf(kind);
    const definition = this.#definitions.get(name);
    if (definition?.isBeingDeleted === false && definition.uid === definitionUid) this.#went.delete(name);
  }

  /** Whether objects say that a kind is there which discovery does not tell (cluster I9). */
  isDefined(kind: ResourceKind): boolean {
    const { group, version } = kind;
    if (this.#definitions.has(definitionOf(kind))) return true;
    // No service stands for the group of services itself.
    return isSameKind(kind, API_SERVICE) ? this.#services.size > 0 : this.#isServedByOthers(version, group);
  }

  /**
   * The definition of the kind is being deleted or was, and its objects with it (cluster S3). The watch of the kind may tell of them
   * later than the watch of definitions tells that theirs is gone, or that another one is there.
   */
  isGoing(kind: ResourceKind): boolean {
    return this.#went.has(definitionOf(kind));
  }

  /** When the watch told that the definition of the kind was deleted; `null` where it did not, and where another one is there (cluster S17). */
  deletedAtMs(kind: ResourceKind): number | null {
    return this.#deletedAtMs.get(definitionOf(kind)) ?? null;
  }

  #define(name: string, definition: Definition): boolean {
    this.#deletedAtMs.delete(name);
    const before = this.#definitions.get(name);
    const isAnother = before !== undefined && before.uid !== definition.uid;
    this.#definitions.set(name, definition);
    return (definition.isBeingDeleted || isAnother) && this.#noteWent(name);
  }

  /** Under its name another one may be by now. */
  #undefine(name: string, uid: string, deletedAtMs: number | null): boolean {
    if (this.#definitions.get(name)?.uid !== uid) return false;
    this.#definitions.delete(name);
    if (deletedAtMs !== null) this.#noteDeleted(name, deletedAtMs);
    return this.#noteWent(name);
  }

  #noteDeleted(name: string, atMs: number): void {
    this.#deletedAtMs.set(name, atMs);
    const [oldest] = this.#deletedAtMs.keys();
    if (this.#deletedAtMs.size > MOST_WENT && oldest !== undefined) this.#deletedAtMs.delete(oldest);
  }

  #noteWent(name: string): boolean {
    if (this.#went.has(name)) return false;
    this.#went.add(name);
    const [oldest] = this.#went;
    if (this.#went.size > MOST_WENT && oldest !== undefined) this.#went.delete(oldest);
    return true;
  }

  /** Services also stand for groups of definitions; those of which one is known are asked by its name. */
  #isServedByOthers(version: string, group: string): boolean {
    const hasDefinitions = [...this.#definitions.keys()].some((name) => name.endsWith(`.${group}`));
    return !hasDefinitions && this.#services.has(`${version}.${group}`);
  }
}

const definitionOf = ({ resource, group }: ResourceKind): string => `${resource}.${group}`;

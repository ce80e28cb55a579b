import { between, evenChoice, type Random, seededRandom } from '../../sim/random.ts';
import { drawObject, drawReference, weighted } from './draw-graph.ts';
import {
  type AskedPropagation,
  FOREIGN_FINALIZER,
  type History,
  type PlayedObject,
  type PlayedReference,
  type Step,
} from './history.ts';
import { kindOf, servedKind } from './kinds.ts';

const FEWEST_OBJECTS = 30;
const MOST_OBJECTS = 300;
/** Small graphs come more often, since they take less time. */
const SIZE_POWER = 4;
/** Of so many seeds one is wild. */
const WILD_EVERY = 10;

/** The same for the same seed. */
export function drawHistory(seed: number): History {
  return new Drawing(seed).history();
}

const PROPAGATIONS = [
  [35, 'Background'],
  [35, 'Foreground'],
  [20, 'Orphan'],
  [10, null],
] as const satisfies readonly (readonly [number, AskedPropagation])[];

type Deed = 'delete' | 'create' | 'refer' | 'release' | 'delete-again';
const DEEDS = [
  [50, 'delete'],
  [25, 'create'],
  [10, 'refer'],
  [8, 'release'],
  [7, 'delete-again'],
] as const satisfies readonly (readonly [number, Deed])[];

/** What goes in one burst. */
interface Going {
  /** Objects that are deleted so that their dependents stay. */
  readonly orphaning: Set<number>;
  readonly others: Set<number>;
}

class Drawing {
  readonly #seed: number;
  readonly #random: Random;
  readonly #isWild: boolean;
  readonly #objects: PlayedObject[] = [];
  /** By owner, those that ever listed its uid. */
  readonly #dependents = new Map<number, Set<number>>();
  readonly #deleted = new Set<number>();
  /** May go as soon as they are made, or a moment later. */
  readonly #doomed = new Set<number>();
  #going: Going = { orphaning: new Set(), others: new Set() };
  /** Objects that get other owners in this burst. */
  #referred = new Set<number>();
  /** Objects that are made in it. */
  #late = new Set<number>();

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
    this.#isWild = seed % WILD_EVERY === 0;
  }

  history(): History {
    const bursts: Step[][] = [this.#graph()];
    const rings = this.#rings();
    if (rings.length > 0) bursts.push(rings);
    for (let left = between(this.#random, 3, 6); left > 0; left--) bursts.push(this.#burst());
    if (this.#random() < 0.3) bursts.push(this.#releases());
    return { seed: this.#seed, isWild: this.#isWild, bursts: bursts.filter(({ length }) => length > 0) };
  }

  #graph(): Step[] {
    const count = FEWEST_OBJECTS + Math.floor((MOST_OBJECTS - FEWEST_OBJECTS) * this.#random() ** SIZE_POWER);
    return Array.from({ length: count }, () => this.#create(this.#draw()));
  }

  #draw(): PlayedObject {
    const object = drawObject(this.#random, this.#objects.length, this.#objects);
    if (!object.references.some((reference) => this.#mayBeAbsent(object, reference))) return object;
    this.#doomed.add(object.id);
    // Whether dependents come before it orphans would be a matter of chance.
    return { ...object, finalizers: object.finalizers.filter((each) => each !== 'orphan') };
  }

  /** Whether such an owner may not be there, or not as it is named. */
  #mayBeAbsent({ place }: PlayedObject, { nameOf, uidOf, apiVersion, kind }: PlayedReference): boolean {
    const owner = uidOf === null ? undefined : this.#objects[uidOf];
    if (owner === undefined || nameOf !== uidOf) return true;
    const its = kindOf(owner.kind);
    const isFound = servedKind(apiVersion, kind) === its && (!its.namespaced || owner.place === place);
    return !isFound || this.#doomed.has(owner.id) || this.#deleted.size > 0;
  }

  #create(object: PlayedObject): Step {
    this.#objects.push(object);
    this.#link(object.id, object.references);
    return { do: 'create', object };
  }

  #link(id: number, references: readonly PlayedReference[]): void {
    for (const { uidOf } of references) {
      if (uidOf === null) continue;
      const of = this.#dependents.get(uidOf) ?? new Set<number>();
      this.#dependents.set(uidOf, of.add(id));
    }
  }

  /** The objects and all that ever listed one of them, or one of those. */
  #below(ids: Iterable<number>): Set<number> {
    const found = new Set(ids);
    for (const id of found) for (const dependent of this.#dependents.get(id) ?? []) found.add(dependent);
    return found;
  }

  /** Objects without owners get one of those that depend on them. */
  #rings(): Step[] {
    const roots = this.#objects.filter(({ references }) => references.length === 0);
    const count = between(this.#random, 0, 2);
    return Array.from({ length: count }).flatMap(() => this.#ring(roots));
  }

  #ring(roots: readonly PlayedObject[]): Step[] {
    const root = evenChoice(this.#random, roots);
    if (root === undefined || root.finalizers.includes('orphan')) return [];
    const below = [...this.#below([root.id])].flatMap((id) => this.#objects[id] ?? []);
    const reference = drawReference(this.#random, root, below, 'none');
    if (reference === null || this.#objects[reference.uidOf ?? 0]?.finalizers.includes('orphan')) return [];
    this.#link(root.id, [reference]);
    return [{ do: 'refer', id: root.id, references: [reference] }];
  }

  #burst(): Step[] {
    this.#going = { orphaning: new Set(), others: new Set() };
    this.#referred = new Set();
    this.#late = new Set();
    const count = between(this.#random, 2, 8);
    return Array.from({ length: count }).flatMap(() => this.#deed(weighted<Deed>(this.#random, DEEDS)));
  }

  #deed(deed: Deed): Step[] {
    switch (deed) {
      case 'delete':
        return this.#delete(this.#objects.filter(({ id }) => !this.#deleted.has(id)));
      case 'delete-again':
        return this.#delete(this.#objects.filter(({ id }) => this.#mayGoAgain(id)));
      case 'create':
        return this.#newcomer();
      case 'refer':
        return this.#refer();
      case 'release':
        return this.#release();
    }
  }

  /** If it is being deleted, it goes. */
  #release(): Step[] {
    const held = evenChoice(this.#random, this.#objects.filter(isHeld));
    return held === undefined || !this.#mayGo(held, 'Background') ? [] : [{ do: 'release', id: held.id }];
  }

  /** Of three, the one with the most below it. */
  #delete(among: readonly PlayedObject[]): Step[] {
    const [chosen] = Array.from({ length: 3 }, () => evenChoice(this.#random, among))
      .filter((each) => each !== undefined)
      .toSorted((a, b) => this.#below([b.id]).size - this.#below([a.id]).size);
    const propagation = weighted<AskedPropagation>(this.#random, PROPAGATIONS);
    if (chosen === undefined || !this.#mayGo(chosen, propagation)) return [];
    this.#deleted.add(chosen.id);
    return [{ do: 'delete', id: chosen.id, propagation }];
  }

  #mayGo(object: PlayedObject, propagation: AskedPropagation): boolean {
    const orphaning = new Set(this.#going.orphaning);
    const others = new Set(this.#going.others);
    (willOrphan(object, propagation) ? orphaning : others).add(object.id);
    // Whether it goes before or after an object below it gets other owners would be a matter of chance.
    if ([...this.#below([object.id])].some((id) => this.#referred.has(id))) return false;
    // As it would be whether a new dependent comes before its owner orphans.
    if (
      [...orphaning].some((id) => [...(this.#dependents.get(id) ?? [])].some((each) => this.#late.has(each)))
    )
      return false;
    if (!this.#isWild && ![...orphaning].every((id) => this.#isApart(id, orphaning, others))) return false;
    this.#going = { orphaning, others };
    return true;
  }

  /** Which of two deletions of one burst comes first would be a matter of chance. */
  #mayGoAgain(id: number): boolean {
    const { orphaning, others } = this.#going;
    return this.#deleted.has(id) && (this.#isWild || !(orphaning.has(id) || others.has(id)));
  }

  /** Nothing else that goes in this burst has to do with it, or with those that it leaves. */
  #isApart(id: number, orphaning: ReadonlySet<number>, others: ReadonlySet<number>): boolean {
    const rest = this.#below([...others, ...[...orphaning].filter((each) => each !== id)]);
    return ![id, ...(this.#dependents.get(id) ?? [])].some((each) => rest.has(each));
  }

  /** A dependent that shows up while owners go, and after. */
  #newcomer(): Step[] {
    const object = this.#draw();
    const { orphaning } = this.#going;
    // Whether it comes before or after its owner orphans would be a matter of chance.
    const isChance = object.references.some(({ uidOf }) => uidOf !== null && orphaning.has(uidOf));
    if (isChance) return [];
    this.#late.add(object.id);
    return [this.#create(object)];
  }

  /** Other owners for an object that nothing in this burst touches. */
  #refer(): Step[] {
    const touched = this.#below([...this.#going.orphaning, ...this.#going.others]);
    const free = this.#objects.filter(({ id }) => !touched.has(id) && !this.#deleted.has(id));
    const object = evenChoice(this.#random, free);
    if (object === undefined) return [];
    const earlier = free.filter(({ id, finalizers }) => id < object.id && !finalizers.includes('orphan'));
    const drawn = [drawReference(this.#random, object, earlier, 'none')];
    const references = drawn.filter((each) => each !== null);
    this.#link(object.id, references);
    this.#referred.add(object.id);
    return [{ do: 'refer', id: object.id, references }];
  }

  #releases(): Step[] {
    return this.#objects.filter(isHeld).map(({ id }) => ({ do: 'release', id }));
  }
}

const isHeld = ({ finalizers }: PlayedObject): boolean => finalizers.includes(FOREIGN_FINALIZER);

/** As the API server decides: what is asked for, then a finalizer, then the kind. */
const willOrphan = ({ kind, finalizers }: PlayedObject, propagation: AskedPropagation): boolean => {
  if (propagation !== null) return propagation === 'Orphan';
  if (finalizers.includes('orphan')) return true;
  return !finalizers.includes('foregroundDeletion') && kindOf(kind).orphansByDefault;
};

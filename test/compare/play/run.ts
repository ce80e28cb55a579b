import type { Place, PlayedObject, PlayedReference, Step } from '../history/history.ts';
import { FOREIGN_FINALIZER, type History } from '../history/history.ts';
import { kindOf } from '../history/kinds.ts';
import { nameOf } from '../judge/state.ts';
import type { Api, Named, Reference } from './api.ts';

const NOBODY = 'nobody';

/** One play of a history: its names are its own, so that many lie beside each other on one API server. */
export class Run {
  readonly history: History;
  readonly name: string;
  readonly #api: Api;
  readonly #uids: Map<string, number>;
  readonly #objects = new Map<number, PlayedObject>();
  readonly #made = new Map<number, Promise<string>>();

  /** `uids` learns whose uid is whose. */
  constructor(history: History, side: string, api: Api, uids: Map<string, number>) {
    this.history = history;
    this.name = `s${history.seed}-${side}`;
    this.#api = api;
    this.#uids = uids;
  }

  async begin(): Promise<void> {
    for (const place of ['home', 'away'] as const) await this.#api.createNamespace(this.#namespace(place));
  }

  /** Steps of a burst go out at once; what they need of each other they wait for. */
  async play(burst: readonly Step[]): Promise<void> {
    await Promise.all(burst.map((step) => this.#step(step)));
  }

  #step(step: Step): Promise<unknown> {
    switch (step.do) {
      case 'create': {
        const { object } = step;
        this.#objects.set(object.id, object);
        const made = this.#create(object);
        this.#made.set(object.id, made);
        return made;
      }
      case 'delete':
        return this.#once(step.id, (object) =>
          this.#api.delete(kindOf(object.kind), this.#named(object), step.propagation),
        );
      case 'refer':
        return this.#once(step.id, async (object) => {
          const ownerReferences = await this.#references(step.references);
          await this.#api.change(kindOf(object.kind), this.#named(object), () => ({ ownerReferences }));
        });
      case 'release':
        return this.#once(step.id, (object) =>
          this.#api.change(kindOf(object.kind), this.#named(object), ({ finalizers }) => ({
            finalizers: finalizers.filter((each) => each !== FOREIGN_FINALIZER),
          })),
        );
    }
  }

  async #create(object: PlayedObject): Promise<string> {
    const ownerReferences = await this.#references(object.references);
    const { finalizers } = object;
    const written = { finalizers, ownerReferences };
    const uid = await this.#api.create(kindOf(object.kind), this.#named(object), written);
    this.#uids.set(uid, object.id);
    return uid;
  }

  /** Once the object is made. */
  async #once(id: number, act: (object: PlayedObject) => Promise<unknown>): Promise<void> {
    await this.#made.get(id);
    await act(this.#object(id));
  }

  #references(references: readonly PlayedReference[]): Promise<Reference[]> {
    return Promise.all(
      references.map(async ({ nameOf: named, uidOf, ...rest }) => ({
        ...rest,
        name: named === null ? NOBODY : this.#named(this.#object(named)).name,
        uid: (uidOf === null ? undefined : await this.#made.get(uidOf)) ?? crypto.randomUUID(),
      })),
    );
  }

  #object(id: number): PlayedObject {
    const object = this.#objects.get(id);
    if (object === undefined)
      throw new Error(`the history of seed ${this.history.seed} makes no o${id} so early`);
    return object;
  }

  #named({ id, kind, place }: PlayedObject): Named {
    return kindOf(kind).namespaced
      ? { namespace: this.#namespace(place), name: nameOf(id) }
      : { namespace: '', name: `${this.name}-${nameOf(id)}` };
  }

  #namespace(place: Place): string {
    return `${this.name}-${place}`;
  }
}

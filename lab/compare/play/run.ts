import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Place, PlayedObject, PlayedReference, PlayedStatus, Step } from '../history/history.ts';
import { FOREIGN_FINALIZER, type History } from '../history/history.ts';
import { kindOf } from '../history/kinds.ts';
import { nameOf, type RunState } from '../judge/state.ts';
import type { Api, Named, Reference } from './api.ts';
import { answersOf, certificateOf, specOf, statusOf } from './written.ts';

const NOBODY = 'nobody';
const SECOND_MS = 1_000;

type RequestStatus = Extract<PlayedStatus, { of: 'certificateRequest' }>;
/** What somebody said about a certificate request before. */
const Answered = z.object({
  status: z
    .object({ conditions: z.array(z.looseObject({ type: z.string() })).default([]) })
    .default({ conditions: [] }),
});

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
    await this.play(this.history.before ?? []);
  }

  /** Takes away what is left of it. */
  async clear(state: RunState): Promise<void> {
    await Promise.all(
      [...state.keys()].map(async (id) => {
        const object = this.#object(id);
        const [kind, named] = [kindOf(object.kind), this.#named(object)];
        await this.#api.change(kind, named, () => ({ finalizers: [] }));
        await this.#api.delete(kind, named, null, { gracePeriodSeconds: 0 });
      }),
    );
  }

  /** Steps of a burst go out at once, unless their order matters; what they need of each other they wait for. */
  async play(burst: readonly Step[]): Promise<void> {
    if (this.history.isOrdered) for (const step of burst) await this.#step(step);
    else await Promise.all(burst.map((step) => this.#step(step)));
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
      case 'tell':
        return this.#once(step.id, (object) => this.#tell(object, step.status));
      case 'ask':
        return this.#once(step.id, (object) => {
          const spec = specOf(step.spec, (id) => this.#wideName(id));
          return this.#api.merge(kindOf(object.kind), this.#named(object), { spec });
        });
      case 'replace':
        return this.#once(step.id, async (object) => {
          await this.#api.delete(kindOf(object.kind), this.#named(object), null);
          await this.#create(object);
        });
      case 'pass-a-second':
        return sleep(SECOND_MS);
    }
  }

  async #create(object: PlayedObject): Promise<string> {
    const ownerReferences = await this.#references(object.references);
    const { finalizers } = object;
    const written = { finalizers, ownerReferences };
    const { spec, status } = object;
    const body = {
      ...(spec !== undefined && { spec: specOf(spec, (id) => this.#wideName(id)) }),
      // A kubelet makes its node with all that it says of it.
      ...(status?.of === 'node' && { status: statusOf(status, Date.now()) }),
    };
    const uid = await this.#api.create(kindOf(object.kind), this.#named(object), written, body);
    this.#uids.set(uid, object.id);
    if (status !== undefined && status.of !== 'node') await this.#tell(object, status);
    return uid;
  }

  async #tell(object: PlayedObject, status: PlayedStatus): Promise<void> {
    if (status.of === 'certificateRequest') return this.#answer(object, status);
    const body = { status: statusOf(status, Date.now()) };
    await this.#api.merge(kindOf(object.kind), this.#named(object), body, 'status');
  }

  /** Approvals are written by themselves; what was said before stays. */
  async #answer(object: PlayedObject, status: RequestStatus): Promise<void> {
    const [kind, named] = [kindOf(object.kind), this.#named(object)];
    const found = await this.#api.read(kind, named);
    if (found === null) return;
    const before = Answered.parse(found).status.conditions;
    const answers = answersOf(status, Date.now());
    const isApproval = ({ type }: { readonly type: string }) => type === 'Approved' || type === 'Denied';
    const approvals = [...before, ...answers.filter(isApproval)];
    if (approvals.length > before.length)
      await this.#api.merge(kind, named, { status: { conditions: approvals } }, 'approval');
    const conditions = [...approvals, ...answers.filter((answer) => !isApproval(answer))];
    const certificate = status.certificate === null ? {} : { certificate: certificateOf(status.certificate) };
    if (conditions.length > approvals.length || status.certificate !== null)
      await this.#api.merge(kind, named, { status: { conditions, ...certificate } }, 'status');
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
      : { namespace: '', name: this.#wideName(id) };
  }

  #wideName(id: number): string {
    return `${this.name}-${nameOf(id)}`;
  }

  #namespace(place: Place): string {
    return `${this.name}-${place}`;
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Place } from '../history/history.ts';
import { type KindId, kindOf } from '../history/kinds.ts';
import { readSays } from '../judge/says.ts';
import { groupedByUid, type ObjectState, type RunState, type StatedReference } from '../judge/state.ts';
import type { Api, Metadata, Named, Reference } from './api.ts';

/** What is looked at. */
export interface Sight {
  readonly kinds: readonly KindId[];
  /** Metadata is not all that matters. */
  readonly isWhole: boolean;
}

interface Found {
  readonly kind: KindId;
  readonly metadata: Metadata;
  /** `null` where metadata is all that matters. */
  readonly whole: unknown;
}

/** What lies on the API server, run by run. */
export type Look = ReadonlyMap<string, RunState>;

const NOTHING: RunState = new Map();
export const stateOf = (look: Look, run: string): RunState => look.get(run) ?? NOTHING;

/** Looks cost the API server more than anything else here. */
const SHORTEST_PAUSE_MS = 200;

/** Looks at everything, again and again while somebody waits: one look serves all that wait for it. */
export class Observer {
  readonly #api: Api;
  readonly #uids: ReadonlyMap<string, number>;
  readonly #sight: Sight;
  #next: Promise<Look> | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(api: Api, uids: ReadonlyMap<string, number>, sight: Sight) {
    this.#api = api;
    this.#uids = uids;
    this.#sight = sight;
  }

  /** A look that begins from now on. */
  look(): Promise<Look> {
    this.#next ??= this.#lookAfter(this.#last);
    return this.#next;
  }

  async #lookAfter(rest: Promise<unknown>): Promise<Look> {
    await rest;
    this.#next = null;
    const beganMs = performance.now();
    const looking = this.#lookNow();
    this.#last = looking.then(
      () => sleep(Math.max(SHORTEST_PAUSE_MS, performance.now() - beganMs)),
      () => undefined,
    );
    return looking;
  }

  async #lookNow(): Promise<Look> {
    const found = await Promise.all(this.#sight.kinds.map((kind) => this.#list(kind)));
    return this.#byRun(found.flat());
  }

  async #list(kind: KindId): Promise<readonly Found[]> {
    if (!this.#sight.isWhole)
      return (await this.#api.list(kindOf(kind))).map((metadata) => ({ kind, metadata, whole: null }));
    const objects = await this.#api.listWhole(kindOf(kind));
    return objects.map((whole) => ({ kind, metadata: whole.metadata, whole }));
  }

  #byRun(found: readonly Found[]): Look {
    const runs = new Map<string, Map<number, ObjectState>>();
    for (const each of found) {
      const whose = whoseIs(each.metadata);
      if (whose === null) continue;
      const run = runs.get(whose.run) ?? new Map<number, ObjectState>();
      runs.set(whose.run, run.set(whose.id, this.#stated(whose, each)));
    }
    return runs;
  }

  #stated({ run, id, place }: Whose, { kind, metadata, whole }: Found): ObjectState {
    const nodeIdOf = (name: string): number | null => whoseIs({ namespace: '', name })?.id ?? null;
    return {
      id,
      kind,
      place,
      isDeleting: metadata.deletionTimestamp !== undefined,
      finalizers: metadata.finalizers,
      references: groupedByUid(metadata.ownerReferences.map((reference) => this.#reference(run, reference))),
      ...(whole !== null && readSays(kind, whole, nodeIdOf)),
    };
  }

  #reference(run: string, { apiVersion, kind, name, uid, ...flags }: Reference): StatedReference {
    return {
      apiVersion,
      kind,
      name: name.startsWith(`${run}-`) ? name.slice(run.length + 1) : name,
      uidOf: this.#uids.get(uid) ?? null,
      controller: flags.controller ?? null,
      blockOwnerDeletion: flags.blockOwnerDeletion ?? null,
    };
  }
}

interface Whose {
  readonly run: string;
  readonly id: number;
  readonly place: Place | null;
}

const PLACE = /^(s\d+-.+)-(home|away)$/;
const NAME = /^o(\d+)$/;
const WIDE_NAME = /^(s\d+-.+)-o(\d+)$/;

/** Whose object it is; `null` for one that no history made. */
function whoseIs({ namespace, name }: Named): Whose | null {
  if (namespace === '') {
    const [, run, id] = WIDE_NAME.exec(name) ?? [];
    return run === undefined ? null : { run, id: Number(id), place: null };
  }
  const [, run, place] = PLACE.exec(namespace) ?? [];
  const [, id] = NAME.exec(name) ?? [];
  if (run === undefined || id === undefined) return null;
  return { run, id: Number(id), place: place === 'home' ? 'home' : 'away' };
}

import { waitUntil } from '../../support/wait-until.ts';
import { apiVersionOf, KIND_IDS, type KindId, kindOf } from '../history/kinds.ts';
import type { Api, Reference } from './api.ts';

const NAMESPACE = 'tracers';
const TRACED_MS = 60_000;

/**
 * Objects of every kind whose owner never was: a collector that deletes them has come past everything that happened before on each
 * of its watches, and past what waited before them in its queue.
 */
export class Tracer {
  readonly #api: Api;
  #rounds = 0;

  constructor(api: Api) {
    this.#api = api;
  }

  async begin(): Promise<void> {
    await this.#api.createNamespace(NAMESPACE);
  }

  async trace(): Promise<void> {
    const name = `tracer-${this.#rounds++}`;
    const uids = new Set(await Promise.all(KIND_IDS.map((kind) => this.#create(kind, name))));
    await waitUntil(
      `the collector to delete an object of each kind whose owner is not there`,
      TRACED_MS,
      async () => {
        const lists = await Promise.all(KIND_IDS.map((kind) => this.#api.list(kindOf(kind))));
        return !lists.flat().some(({ uid }) => uids.has(uid));
      },
    );
  }

  #create(kind: KindId, name: string): Promise<string> {
    const { namespaced } = kindOf(kind);
    const named = { namespace: namespaced ? NAMESPACE : '', name };
    return this.#api.create(kindOf(kind), named, { ownerReferences: [neverThere(namespaced)] });
  }
}

function neverThere(namespaced: boolean): Reference {
  const { group, version, kind } = kindOf(namespaced ? 'configMap' : 'clusterRole');
  return { apiVersion: apiVersionOf(group, version), kind, name: 'never', uid: crypto.randomUUID() };
}

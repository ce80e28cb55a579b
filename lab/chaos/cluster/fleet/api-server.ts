import { writeFileSync } from 'node:fs';
import { systemSources } from '../../../../packages/process/system-sources.ts';
import { type FaultProxy, startFaultProxy } from '../../../../test/support/nodes/fault-proxy.ts';
import { type SimulatedApiServer, startApiServer } from '../../../sim/api-server/api-server.ts';
import { SimulatedCluster } from '../../../sim/api-server/cluster.ts';
import { type Change, LEASE, type Saved } from '../../../sim/api-server/objects.ts';
import type { TruthLine } from '../truth.ts';
import { KINDS } from './kinds.ts';
import { trueObject } from './true-object.ts';

const TOKEN = 'known';

/** The API server of a round, which the product reaches over a way that spoils answers; its own truth is written down. */
export class ChaosApiServer implements AsyncDisposable {
  readonly cluster = new SimulatedCluster({ ...systemSources, kinds: KINDS });
  readonly way: FaultProxy;
  readonly truth: TruthLine[] = [];
  #server: SimulatedApiServer | null;
  #isLife = false;
  #saved: Saved | null = null;
  /** How many want it away: faults overlap. */
  #absences = 0;
  #last: Promise<void> = Promise.resolve();

  private constructor(server: SimulatedApiServer | null, way: FaultProxy) {
    this.#server = server;
    this.way = way;
    this.#writeAll();
    this.cluster.store.onChange((change) => this.#write(change));
  }

  static async start(): Promise<ChaosApiServer> {
    const nowhere = 'http://127.0.0.1:9';
    const way = await startFaultProxy({
      clusters: [{ name: 'c', cluster: { server: nowhere } }],
      users: [{ name: 'u', user: { token: TOKEN } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    });
    const started = new ChaosApiServer(null, way);
    await started.#begin();
    return started;
  }

  /** Somebody else than the product does something. */
  byLife(deed: () => void): void {
    this.#isLife = true;
    try {
      deed();
    } finally {
      this.#isLife = false;
    }
  }

  /** What a later restore goes back to. */
  save(): void {
    this.#saved = this.cluster.store.save();
  }

  /** It is away until what is returned is called, and may come back in the state that was saved. */
  async leave(comesBack: 'as-it-was' | 'restored'): Promise<() => Promise<void>> {
    this.#absences += 1;
    await this.#inTurn(() => this.#end());
    return () =>
      this.#inTurn(async () => {
        if (comesBack === 'restored') this.#restore();
        this.#absences -= 1;
        if (this.#absences === 0) await this.#begin();
      });
  }

  writeTruth(path: string): void {
    writeFileSync(path, this.truth.map((line) => `${JSON.stringify(line)}\n`).join(''));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
    await this.way[Symbol.asyncDispose]();
    await this.#server?.[Symbol.asyncDispose]();
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(task);
    return this.#last;
  }

  async #begin(): Promise<void> {
    this.#server = await startApiServer({ cluster: this.cluster, token: TOKEN, wait: systemSources.wait });
    this.way.leadTo(this.#server.url);
  }

  async #end(): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    this.#server = null;
    this.way.cut();
  }

  #restore(): void {
    if (this.#saved === null) return;
    this.cluster.store.restore(this.#saved);
    this.#writeAll();
  }

  #writeAll(): void {
    const { store } = this.cluster;
    const objects = KINDS.filter((kind) => kind !== LEASE).flatMap((kind) =>
      store.list(kind, null).map((object) => trueObject(kind, object)),
    );
    this.truth.push({ atMs: Date.now(), kind: 'restored', objects });
  }

  #write({ type, kind, object }: Change): void {
    if (kind === LEASE) return;
    this.truth.push({
      atMs: Date.now(),
      kind: type === 'DELETED' ? 'gone' : 'is',
      by: this.#isLife ? 'life' : 'product',
      object: trueObject(kind, object),
    });
  }
}

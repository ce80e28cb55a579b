import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import type { PolicySource } from '../../../packages/policy/policies.ts';
import type { Check } from '../../../packages/process/http.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import type { ServiceProcess } from '../../../packages/service/service-process.ts';
import { removingOptions } from '../../../services/cluster/cluster-options.ts';
import { runCluster } from '../../../services/cluster/run-cluster.ts';
import { NO_METRICS } from '../../../test/support/silent.ts';
import { directConnection } from '../../sim/api-server/api-server.ts';
import { SimulatedCluster } from '../../sim/api-server/cluster.ts';
import { NAMESPACE } from '../../sim/api-server/objects.ts';
import { KEPT_PODS, ROLLING_KINDS, RollingCluster } from './rolling.ts';
import { ClusterTruth } from './truth.ts';

/** As it comes. */
const REMOVING = z.object(removingOptions).parse({});
const Deletion = z.object({ preconditions: z.object({ uid: z.string() }) });

interface Hosting {
  readonly process: ServiceProcess;
  readonly policies: Pick<PolicySource, 'current'>;
}

/** A simulated cluster with agent and executor in one process, as `fleetgc cluster run` composes them. */
export class HostedCluster {
  readonly name: string;
  readonly truth: ClusterTruth;
  readonly rolling: RollingCluster;
  /** Deletions of objects that were deleted before, and deletions that found nothing to delete. */
  twice = 0;
  inVain = 0;
  readonly #cluster: SimulatedCluster;
  readonly #deleted = new Set<string>();
  readonly #checks: Check[] = [];

  constructor(number: number, objects: number) {
    const { now, newId } = systemSources;
    this.name = `many-${number}`;
    this.#cluster = new SimulatedCluster({ kinds: ROLLING_KINDS, now, newId });
    this.truth = new ClusterTruth(this.#cluster, { keptPods: KEPT_PODS, nowMs: now });
    this.rolling = new RollingCluster(this.#cluster, this.truth, number, now);
    this.rolling.fill(objects);
  }

  /** Why agent or executor cannot work yet; `null` when both can. */
  problem(): string | null {
    if (this.#checks.length < 2) return 'agent and executor have not begun';
    return this.#checks.map((check) => check.problem()).find((problem) => problem !== null) ?? null;
  }

  async run({ process, policies }: Hosting, signal: AbortSignal): Promise<void> {
    using state = mkdtempDisposableSync(join(tmpdir(), 'fleetgc-bench-'));
    const own = {
      ...process,
      metrics: NO_METRICS,
      addCheck: (check: Check) => void this.#checks.push(check),
    };
    const cluster = {
      identity: { cluster: this.name, clusterInstance: this.#instance() },
      server: 'simulated',
      connection: this.#connect(),
      [Symbol.dispose]: () => undefined,
    };
    await runCluster({ process: own, cluster, signal }, { policies, removing: REMOVING, state });
  }

  #instance(): string {
    const home = this.#cluster.store.get(NAMESPACE, { namespace: '', name: 'kube-system' });
    if (home === undefined) throw new Error(`${this.name} has no kube-system`);
    return home.metadata.uid;
  }

  #connect(): ApiConnection {
    const { now, monotonicNow, wait } = systemSources;
    const direct = directConnection({
      cluster: this.#cluster,
      serverNowMs: now,
      nowMs: monotonicNow,
      wait,
    });
    return {
      ...direct,
      call: async (request, signal) => {
        const answer = await direct.call(request, signal);
        if (request.method === 'DELETE') this.#countDeletion(request.body ?? '', answer.status);
        return answer;
      },
    };
  }

  #countDeletion(body: string, status: number): void {
    const { uid } = Deletion.parse(JSON.parse(body)).preconditions;
    if (status >= 300) this.inVain++;
    else if (this.#deleted.has(uid)) this.twice++;
    else this.#deleted.add(uid);
  }
}

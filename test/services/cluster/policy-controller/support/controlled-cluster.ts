import { directConnection } from '../../../../../lab/sim/api-server/api-server.ts';
import { SimulatedCluster } from '../../../../../lab/sim/api-server/cluster.ts';
import { NAMESPACE, POLICY, SERVED } from '../../../../../lab/sim/api-server/objects.ts';
import type { ApiConnection } from '../../../../../packages/kube-api/connection.ts';
import { createLogger } from '../../../../../packages/process/logger.ts';
import { createMetrics } from '../../../../../packages/process/metrics.ts';
import { systemSources } from '../../../../../packages/process/system-sources.ts';
import type { SigningKey } from '../../../../../packages/records/trust/key-pair.ts';
import { PolicyObjectStatus } from '../../../../../schemas/policy/policy-object.ts';
import {
  type ControllerParts,
  type PassDone,
  PolicyReconciler,
} from '../../../../../services/cluster/policy-controller/handler.ts';
import { logLines } from '../../../../support/log-lines.ts';
import type { FollowedLog, GuardedLog } from './guarded-log.ts';

const NEVER = new AbortController().signal;

/** A simulated cluster with a policy controller, whose passes the test begins. */
export class ControlledCluster {
  readonly cluster = new SimulatedCluster({
    kinds: [...SERVED, POLICY],
    now: Date.now,
    newId: systemSources.newId,
  });
  readonly connection: ApiConnection;
  readonly parts: ControllerParts;
  readonly policies: FollowedLog;
  readonly logged = logLines();
  /** Answers in place of the API server, where a test says so. */
  instead: ((path: string) => { readonly status: number; readonly body: string } | null) | null = null;
  /** The API server that answers at its address, where it is no more the one of this cluster. */
  moved: ApiConnection | null = null;
  reconciler: PolicyReconciler;

  private constructor(name: string, own: Own) {
    const { connection, guarded, key } = own(this);
    this.connection = connection;
    this.policies = guarded.policies(key);
    this.parts = {
      identity: { cluster: name, clusterInstance: this.instance() },
      connection,
      policies: this.policies,
      log: guarded.log,
      countNodesEveryMs: 300_000,
      // Read at each call, so that a test can stop the clock.
      sources: { ...systemSources, now: () => Date.now() },
      metrics: createMetrics(),
      logger: createLogger({ service: 'test', level: 'info' }, this.logged),
    };
    this.reconciler = new PolicyReconciler(this.parts);
  }

  static async begin(name: string, guarded: GuardedLog, key?: SigningKey): Promise<ControlledCluster> {
    const own = key ?? (await guarded.controllerKey(name));
    const made: ControlledCluster = new ControlledCluster(name, (self) => {
      const direct = directConnection({
        cluster: self.cluster,
        serverNowMs: Date.now,
        nowMs: systemSources.monotonicNow,
        wait: systemSources.wait,
      });
      const connection: ApiConnection = {
        ...direct,
        call: async (request, signal) => {
          const answer = self.instead?.(request.path) ?? null;
          const server = self.moved ?? direct;
          return answer === null ? server.call(request, signal) : { headers: {}, ...answer };
        },
      };
      return { connection, guarded, key: own };
    });
    return made;
  }

  /** By which the cluster is known. */
  instance(): string {
    return this.cluster.store.get(NAMESPACE, named('kube-system'))?.metadata.uid ?? '';
  }

  write(name: string, spec: object): void {
    const metadata = { name };
    const { status } = this.cluster.create(POLICY, '', { metadata, spec }, false);
    if (status === 409) this.cluster.patch(POLICY, named(name), { spec: { ...CLEARED, ...spec } }, false);
  }

  delete(name: string): void {
    this.cluster.delete(POLICY, named(name), { propagation: null, isDryRun: false });
  }

  /** Of a controller that has read all that lies on the log. */
  async pass(): Promise<PassDone> {
    await this.policies.catchUp();
    return await this.reconciler.pass(NEVER);
  }

  /** Another process, which knows nothing of what the one before did. */
  restart(): void {
    this.reconciler = new PolicyReconciler(this.parts);
  }

  status(name: string): PolicyObjectStatus {
    return PolicyObjectStatus.parse(this.cluster.store.get(POLICY, named(name))?.status);
  }

  version(name: string): string {
    return this.cluster.store.get(POLICY, named(name))?.metadata.resourceVersion ?? '';
  }

  /** `Ready=True Applied` and the like. */
  conditions(name: string): readonly string[] {
    return this.status(name).conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`);
  }
}

const named = (name: string) => ({ namespace: '', name });
/** A merge patch keeps what it does not name. */
const CLEARED = { imageGCLowThresholdPercent: null, imageGCHighThresholdPercent: null, selector: null };

type Own = (self: ControlledCluster) => {
  readonly connection: ApiConnection;
  readonly guarded: GuardedLog;
  readonly key: SigningKey;
};

import type { ApiKind } from '../../../packages/kube-api/resources.ts';
import { apiVersionOf } from '../../../packages/owner-graph/kinds.ts';
import { Deeds, type Owner, type Propagation, type SimulatedCluster } from '../../sim/api-server/cluster.ts';
import {
  apiTime,
  CONFIG_MAP,
  DEPLOYMENT,
  JOB,
  NODE,
  POD,
  REPLICA_SET,
  SECRET,
  SERVED,
} from '../../sim/api-server/objects.ts';
import type { ClusterTruth } from './truth.ts';

/** Kinds that a cluster of the benchmark serves. */
export const ROLLING_KINDS: readonly ApiKind[] = [...SERVED, JOB, NODE];
/** Of pods that ended, so many may stay in each cluster. */
export const KEPT_PODS = 5;

const REPLICAS = 5;
/** A Deployment, its ConfigMap, a ReplicaSet, its Secret and its pods. */
const OBJECTS_OF_APP = 4 + REPLICAS;
const APPS_OF_NAMESPACE = 5;
const NODE_NAME = 'node-1';
/** How old ReplicaSets go, in turns; `whole`: the Deployment goes, and all below it with it. */
const WAYS = ['Background', 'Foreground', 'Background', 'whole'] as const;

interface App {
  readonly namespace: string;
  readonly name: string;
  /** Counts its ReplicaSets. */
  readonly release: number;
}

/** What people, and the controllers of workloads, do in one cluster: they fill it, and roll its applications out. */
export class RollingCluster {
  readonly #cluster: SimulatedCluster;
  readonly #truth: ClusterTruth;
  readonly #number: number;
  readonly #nowMs: () => number;
  readonly #deeds: Deeds;
  readonly #apps: App[] = [];
  #rollOuts = 0;

  /** `number`: of the cluster, by which it begins with another way, so that few and many clusters roll out alike. */
  constructor(cluster: SimulatedCluster, truth: ClusterTruth, number: number, nowMs: () => number) {
    this.#number = number;
    this.#cluster = cluster;
    this.#truth = truth;
    this.#nowMs = nowMs;
    this.#deeds = new Deeds(cluster);
  }

  /** With so many objects, about. */
  fill(objects: number): void {
    const apps = Math.max(1, Math.floor(objects / (OBJECTS_OF_APP + 1 / APPS_OF_NAMESPACE)));
    this.#truth.byPeople(() => {
      this.#deeds.create({ kind: NODE, name: { namespace: '', name: NODE_NAME } });
      for (let number = 0; number < apps; number++) {
        const namespace = `team-${Math.floor(number / APPS_OF_NAMESPACE)}`;
        if (number % APPS_OF_NAMESPACE === 0) this.#deeds.createNamespace(namespace);
        this.#apps.push(this.#deploy({ namespace, name: `app-${number}`, release: 0 }));
      }
      for (let number = 0; number < KEPT_PODS; number++) this.#evict(`early-${number}`);
    });
  }

  /** The next application gets a new ReplicaSet, the one before goes; a Job ends, and a pod is evicted. */
  rollOut(): void {
    const number = this.#rollOuts++;
    const at = number % this.#apps.length;
    const app = this.#apps[at];
    if (app === undefined) throw new Error('there is nothing to roll out');
    const way = WAYS[(this.#number + number) % WAYS.length] ?? 'Background';
    this.#truth.byPeople(() => {
      this.#apps[at] = way === 'whole' ? this.#replace(app) : this.#release(app, way);
      this.#finishJob(`migrate-${number}`);
      this.#evict(`evicted-${number}`);
    });
  }

  #deploy(app: App): App {
    const deployment = this.#deeds.create({ ...deploymentOf(app), fields: { spec: { replicas: REPLICAS } } });
    this.#deeds.create({ ...named(app, CONFIG_MAP, `${app.name}-config`), owner: deployment });
    const replicaSet = this.#scaleUp(app);
    this.#deeds.create({ ...secretOf(app), owner: replicaSet });
    return app;
  }

  #replace(app: App): App {
    this.#deeds.delete(deploymentOf(app), 'Background');
    const release = app.release + 1;
    return this.#deploy({ ...app, name: `${app.name.replace(/-again-\d+$/, '')}-again-${release}`, release });
  }

  /** The secret of a release belongs to the one before as well, so that it has to lose that owner, and to stay. */
  #release(app: App, propagation: Propagation): App {
    const next = { ...app, release: app.release + 1 };
    const before = replicaSetOf(app);
    this.#own(secretOf(next), [before, this.#scaleUp(next)]);
    this.#deeds.delete(before, propagation);
    return next;
  }

  #scaleUp(app: App): Owner {
    const replicaSet = this.#deeds.create({ ...replicaSetOf(app), owner: deploymentOf(app) });
    for (let replica = 1; replica <= REPLICAS; replica++)
      this.#deeds.create({
        ...named(app, POD, `${replicaSet.name.name}-${replica}`),
        owner: replicaSet,
        fields: podFields('Running'),
      });
    return replicaSet;
  }

  #own({ kind, name: { namespace, name } }: Owner, owners: readonly Owner[]): void {
    const ownerReferences = owners.map((owner) => ({
      apiVersion: apiVersionOf(owner.kind),
      kind: owner.kind.kind,
      name: owner.name.name,
      uid: this.#deeds.uidOf(owner),
      blockOwnerDeletion: false,
    }));
    const { status } = this.#cluster.create(kind, namespace, { metadata: { name, ownerReferences } }, false);
    if (status !== 201) throw new Error(`${name} could not be created: ${status}`);
  }

  /** With what it worked from. No pod of it: those that ended are counted, and pod-gc alone is to take them away. */
  #finishJob(name: string): void {
    const place = { namespace: 'default' };
    const lastTransitionTime = apiTime(this.#nowMs());
    const conditions = [{ type: 'Complete', status: 'True', lastTransitionTime }];
    const fields = { spec: { ttlSecondsAfterFinished: 1 }, status: { conditions } };
    const job = this.#deeds.create({ ...named(place, JOB, name), fields });
    this.#deeds.create({ ...named(place, CONFIG_MAP, `${name}-input`), owner: job });
  }

  #evict(name: string): void {
    this.#deeds.create({ ...named({ namespace: 'default' }, POD, name), fields: podFields('Failed') });
  }
}

const named = ({ namespace }: { readonly namespace: string }, kind: ApiKind, name: string): Owner => ({
  kind,
  name: { namespace, name },
});

const deploymentOf = (app: App): Owner => named(app, DEPLOYMENT, app.name);
const replicaSetOf = (app: App): Owner => named(app, REPLICA_SET, `${app.name}-${app.release}`);
const secretOf = (app: App): Owner => named(app, SECRET, `${app.name}-${app.release}`);

const podFields = (phase: string): object => ({
  spec: { nodeName: NODE_NAME },
  status: { phase, ...(phase === 'Failed' && { reason: 'Evicted' }) },
});

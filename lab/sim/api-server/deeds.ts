import type { ApiKind, ApiObjectName } from '../../../packages/kube-api/resources.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { Answer } from './answers.ts';
import type { SimulatedCluster } from './cluster.ts';
import type { Propagation } from './deletion.ts';
import { apiVersionOf, DEPLOYMENT, NAMESPACE, POD, REPLICA_SET } from './kinds.ts';
import type { ApiObject } from './objects.ts';

/** An object that owns others. */
export interface Owner {
  readonly kind: ApiKind;
  readonly name: ApiObjectName;
}

interface Created extends Owner {
  readonly owner?: Owner;
  readonly fields?: object;
}

interface Deployed {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  readonly replicas: number;
  /** Of the ReplicaSet, as its controller makes it from the template. */
  readonly hash: string;
}

/** What people and the controllers of workloads do in a simulated cluster. Whatever is refused is a fault of the script. */
export class Deeds {
  readonly #cluster: SimulatedCluster;

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster;
  }

  createNamespace(name: string): void {
    this.create({ kind: NAMESPACE, name: { namespace: '', name } });
  }

  create({ kind, name: { namespace, name }, owner, fields = {} }: Created): Owner {
    const ownerReferences = owner === undefined ? [] : [this.#referenceTo(owner)];
    const body = { ...fields, metadata: { name, ownerReferences } };
    carriedOut(this.#cluster.create(kind, namespace, body, false));
    return { kind, name: { namespace, name } };
  }

  /** A Deployment, and what its controllers make of it. */
  deploy({ namespace, name, image, replicas, hash }: Deployed): Owner {
    const template = { spec: { containers: [{ name, image }] } };
    const kindNamed = (kind: ApiKind, each: string) => ({ kind, name: { namespace, name: each } });
    const spec = { replicas, template };
    const deployment = this.create({ ...kindNamed(DEPLOYMENT, name), fields: { spec } });
    const replicaSet = kindNamed(REPLICA_SET, `${name}-${hash}`);
    this.create({ ...replicaSet, owner: deployment, fields: { spec } });
    for (let replica = 1; replica <= replicas; replica++)
      this.create({
        ...kindNamed(POD, `${name}-${hash}-${replica}`),
        owner: replicaSet,
        fields: { ...template, status: { phase: 'Running' } },
      });
    return deployment;
  }

  /** As `kubectl get -o yaml` and `kubectl apply -n` copy it: the references to owners come along. */
  copy({ kind, name }: Owner, namespace: string): void {
    const { metadata, ...fields } = this.#found({ kind, name });
    const { ownerReferences } = metadata;
    const body = { ...fields, metadata: { name: metadata.name, ownerReferences } };
    carriedOut(this.#cluster.create(kind, namespace, body, false));
  }

  delete({ kind, name }: Owner, propagation: Propagation): void {
    carriedOut(this.#cluster.delete(kind, name, { propagation, isDryRun: false }));
  }

  uidOf(owner: Owner): string {
    return this.#found(owner).metadata.uid;
  }

  isThere({ kind, name }: Owner): boolean {
    return this.#cluster.store.get(kind, name) !== undefined;
  }

  #found({ kind, name }: Owner): ApiObject {
    const object = this.#cluster.store.get(kind, name);
    if (object === undefined) throw new FleetGcError('INTERNAL', `there is no ${kind.kind} ${name.name}`);
    return object;
  }

  #referenceTo(owner: Owner): object {
    const { kind, name } = owner;
    return {
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      name: name.name,
      uid: this.uidOf(owner),
      controller: true,
      blockOwnerDeletion: true,
    };
  }
}

function carriedOut({ status, body }: Answer): void {
  if (status >= 400)
    throw new FleetGcError('INTERNAL', `the simulated cluster refused: ${JSON.stringify(body)}`);
}

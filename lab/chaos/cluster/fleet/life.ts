import type { ApiKind } from '../../../../packages/kube-api/resources.ts';
import { type Weighted, weighted } from '../../../compare/history/draw-graph.ts';
import {
  type ApiObject,
  apiTime,
  apiVersionOf,
  CLUSTER_ROLE,
  CONFIG_MAP,
  DEPLOYMENT,
  JOB,
  NAMESPACE,
  NODE,
  POD,
  REPLICA_SET,
  SECRET,
  VOLUME,
} from '../../../sim/api-server/objects.ts';
import { between, evenChoice, type Random, seededRandom } from '../../../sim/random.ts';
import { TEAM } from '../policies.ts';
import type { ChaosApiServer } from './api-server.ts';
import { KINDS } from './kinds.ts';
import { KEEP } from './true-object.ts';

const SHOP = 'shop';
/** Bears the annotation that keeps what lies in it. */
export const KEPT_NAMESPACE = 'kept';
const NAMESPACES = [SHOP, SHOP, 'web', TEAM, KEPT_NAMESPACE];
const FINALIZER = 'example.com/held';
/** A list that lacks half of twenty objects or more is doubted for ever (S3): no kind has so many. */
const MOST_OF_KIND = 18;
const REMEMBERED = 12;

interface Referred {
  readonly kind: ApiKind;
  readonly name: string;
  readonly uid: string;
  readonly namespace: string;
}

interface ToMake {
  readonly namespace: string;
  readonly name?: string;
  readonly owners?: readonly Referred[];
  readonly finalizers?: readonly string[];
  readonly fields?: object;
}

const DEEDS: Weighted<(life: ClusterLife) => void> = [
  [6, (life) => life.family()],
  [3, (life) => life.workload()],
  [6, (life) => life.deleteOwner()],
  [3, (life) => life.comeLate()],
  [2, (life) => life.copy()],
  [3, (life) => life.adopt()],
  [1, (life) => life.disown()],
  [3, (life) => life.job()],
  [3, (life) => life.endPod()],
  [1, (life) => life.deleteDependent()],
  [1, (life) => life.volume()],
  [1, (life) => life.hold()],
  [2, (life) => life.release()],
];

/** Objects come, change owners and go, as people and controllers have them do; nothing of it is what a collector does. */
export class ClusterLife {
  readonly #server: ChaosApiServer;
  readonly #random: Random;
  readonly #gone: Referred[] = [];
  #made = 0;

  constructor(server: ChaosApiServer, seed: number) {
    this.#server = server;
    this.#random = seededRandom(seed);
    this.#byLife(() => {
      for (const name of [SHOP, 'web', TEAM]) this.#make(NAMESPACE, { namespace: '', name });
      this.#make(NAMESPACE, { namespace: '', name: KEPT_NAMESPACE, fields: annotated });
      this.#make(NODE, { namespace: '', name: 'node-a' });
    });
  }

  /** One of all that may happen. */
  step(): void {
    const act = weighted(this.#random, DEEDS);
    this.#byLife(() => act(this));
  }

  /** Something comes to do for whoever collects. */
  press(): void {
    this.#byLife(() => {
      const owner = this.#make(CONFIG_MAP, { namespace: SHOP });
      if (owner === null) return;
      for (let count = 0; count < 3; count += 1) this.#make(SECRET, { namespace: SHOP, owners: [owner] });
      this.#delete(owner, 'Background');
    });
  }

  /** Nobody holds anything any more. */
  rest(): void {
    this.#byLife(() => {
      for (const kind of KINDS)
        for (const object of this.#all(kind)) if (isHeld(object)) this.#patch(kind, object, released(object));
    });
  }

  family(): void {
    const namespace = this.#namespace();
    const owners = [this.#make(CONFIG_MAP, { namespace, name: this.#oldName() })].filter(isMade);
    const other = this.#one(CONFIG_MAP, (object) => object.metadata.namespace === namespace);
    const both = other && this.#random() < 0.3 ? [...owners, referred(CONFIG_MAP, other)] : owners;
    const count = between(this.#random, 1, 3);
    for (let each = 0; each < count; each += 1)
      this.#make(SECRET, {
        namespace,
        owners: distinct(each === 0 ? both : owners),
        ...(this.#random() < 0.1 && { fields: annotated }),
      });
  }

  workload(): void {
    const namespace = this.#namespace();
    const deployment = this.#make(DEPLOYMENT, { namespace });
    if (deployment === null) return;
    const set = this.#make(REPLICA_SET, { namespace, owners: [deployment] });
    if (set === null) return;
    const fields = { spec: { nodeName: 'node-a', containers: [] }, status: { phase: 'Running' } };
    for (let count = 0; count < 2; count += 1) this.#make(POD, { namespace, owners: [set], fields });
  }

  deleteOwner(): void {
    const kind = this.#random() < 0.75 ? CONFIG_MAP : DEPLOYMENT;
    const owner = this.#one(kind, isThere);
    if (owner === null) return;
    const how = evenChoice(this.#random, ['Background', 'Background', 'Foreground', 'Orphan'] as const);
    this.#delete(referred(kind, owner), how ?? 'Background');
  }

  /** It names an owner that has gone already. */
  comeLate(): void {
    const owner = evenChoice(this.#random, this.#gone);
    if (owner) this.#make(SECRET, { namespace: owner.namespace, owners: [owner] });
  }

  /** As `kubectl get -o yaml` and `kubectl apply -n` copy it: the references come along. */
  copy(): void {
    const secret = this.#one(SECRET, (object) => object.metadata.ownerReferences.length > 0);
    if (secret === null) return;
    const { ownerReferences } = secret.metadata;
    const namespace = this.#namespace();
    if (namespace === secret.metadata.namespace || this.#isFull(SECRET)) return;
    const name = `copy-${++this.#made}`;
    this.#server.cluster.create(SECRET, namespace, { metadata: { name, ownerReferences } }, false);
  }

  adopt(): void {
    const secret = this.#one(SECRET, isThere);
    const owner =
      secret &&
      this.#one(CONFIG_MAP, (each) => isThere(each) && each.metadata.namespace === secret.metadata.namespace);
    if (!secret || !owner) return;
    const adopted = referenceTo(referred(CONFIG_MAP, owner), true);
    const before = this.#random() < 0.5 ? secret.metadata.ownerReferences : [];
    const others = before.filter((each) => !('uid' in each && each.uid === owner.metadata.uid));
    this.#patch(SECRET, secret, { ownerReferences: [...others, adopted] });
  }

  disown(): void {
    const secret = this.#one(SECRET, isThere);
    if (secret) this.#patch(SECRET, secret, { ownerReferences: [] });
  }

  /** It has just ended, and may go soon after. */
  job(): void {
    const ttlSecondsAfterFinished = between(this.#random, 1, 5);
    const lastTransitionTime = apiTime(Date.now());
    const conditions = [{ type: 'Complete', status: 'True', lastTransitionTime }];
    this.#make(JOB, {
      namespace: this.#namespace(),
      fields: { spec: { ttlSecondsAfterFinished }, status: { conditions } },
    });
  }

  /** One that runs, or a bare one that has ended before anybody saw it. */
  endPod(): void {
    const pod = this.#one(POD, (each) => isThere(each) && isRunning(each));
    const phase = this.#random() < 0.5 ? 'Succeeded' : 'Failed';
    const fields = { spec: { nodeName: 'node-a', containers: [] }, status: { phase } };
    if (pod && this.#random() < 0.6) this.#patchAll(POD, pod, { status: { phase } });
    else this.#make(POD, { namespace: this.#namespace(), fields });
  }

  deleteDependent(): void {
    const secret = this.#one(SECRET, isThere);
    if (secret) this.#delete(referred(SECRET, secret), 'Background');
  }

  /** Of kinds that never go by their owners. */
  volume(): void {
    const role = this.#make(CLUSTER_ROLE, { namespace: '' });
    if (role === null) return;
    this.#make(VOLUME, { namespace: '', owners: [role] });
    this.#make(NAMESPACE, { namespace: '', owners: [role] });
    this.#delete(role, 'Background');
  }

  /** Somebody's finalizer holds a dependent. */
  hold(): void {
    const owner = this.#one(CONFIG_MAP, isThere);
    if (owner === null) return;
    const { namespace = '' } = owner.metadata;
    this.#make(SECRET, { namespace, owners: [referred(CONFIG_MAP, owner)], finalizers: [FINALIZER] });
  }

  release(): void {
    const held = this.#one(SECRET, isHeld);
    if (held) this.#patch(SECRET, held, released(held));
  }

  #byLife(deed: () => void): void {
    this.#server.byLife(deed);
  }

  #namespace(): string {
    return evenChoice(this.#random, NAMESPACES) ?? SHOP;
  }

  /** What was there before may come again under its name, as another one. */
  #oldName(): string {
    const gone = evenChoice(this.#random, this.#gone);
    return gone && this.#random() < 0.3 ? gone.name : this.#newName();
  }

  #newName(): string {
    return `o-${++this.#made}`;
  }

  #all(kind: ApiKind): readonly ApiObject[] {
    return this.#server.cluster.store.list(kind, null);
  }

  #isFull(kind: ApiKind): boolean {
    return this.#all(kind).length >= MOST_OF_KIND;
  }

  #one(kind: ApiKind, fits: (object: ApiObject) => boolean): ApiObject | null {
    return evenChoice(this.#random, this.#all(kind).filter(fits)) ?? null;
  }

  /** `null` where there are enough of the kind, or the name is taken. */
  #make(kind: ApiKind, toMake: ToMake): Referred | null {
    if (this.#isFull(kind)) return null;
    const { namespace, name = this.#newName(), owners = [], finalizers = [], fields = {} } = toMake;
    const ownerReferences = owners.map((owner) => referenceTo(owner, this.#random() < 0.5));
    const metadata = { ...metadataIn(fields), name, ownerReferences, finalizers };
    const { status } = this.#server.cluster.create(kind, namespace, { ...fields, metadata }, false);
    const made = this.#server.cluster.store.get(kind, { namespace, name });
    return status === 201 && made ? referred(kind, made) : null;
  }

  #delete(
    { kind, namespace, name, uid }: Referred,
    propagation: 'Background' | 'Foreground' | 'Orphan',
  ): void {
    this.#server.cluster.delete(kind, { namespace, name }, { propagation, isDryRun: false });
    this.#gone.push({ kind, namespace, name, uid });
    if (this.#gone.length > REMEMBERED) this.#gone.shift();
  }

  #patch(kind: ApiKind, object: ApiObject, metadata: object): void {
    this.#patchAll(kind, object, { metadata });
  }

  #patchAll(kind: ApiKind, { metadata: { namespace = '', name } }: ApiObject, patch: object): void {
    this.#server.cluster.patch(kind, { namespace, name }, patch, false);
  }
}

const annotated = { metadata: { annotations: { [KEEP]: 'true' } } };
const metadataIn = (fields: object): object =>
  'metadata' in fields && typeof fields.metadata === 'object' ? { ...fields.metadata } : {};

const isMade = (made: Referred | null): made is Referred => made !== null;
const isThere = ({ metadata }: ApiObject): boolean => metadata.deletionTimestamp === undefined;
const isRunning = (pod: ApiObject): boolean => JSON.stringify(pod.status ?? {}).includes('Running');
const isHeld = ({ metadata }: ApiObject): boolean => metadata.finalizers.includes(FINALIZER);
const released = ({ metadata }: ApiObject) => ({
  finalizers: metadata.finalizers.filter((each) => each !== FINALIZER),
});

const referred = (kind: ApiKind, { metadata: { namespace = '', name, uid } }: ApiObject): Referred => ({
  kind,
  namespace,
  name,
  uid,
});

const distinct = (owners: readonly Referred[]): readonly Referred[] => [
  ...new Map(owners.map((owner) => [owner.uid, owner])).values(),
];

const referenceTo = ({ kind, name, uid }: Referred, blockOwnerDeletion: boolean): object => ({
  apiVersion: apiVersionOf(kind),
  kind: kind.kind,
  name,
  uid,
  blockOwnerDeletion,
});

import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import type { ObjectMetadata } from '../../../packages/kube-api/metadata.ts';
import { hasPath } from '../../../packages/kube-api/resources.ts';
import type { GraphObject } from '../../../packages/owner-graph/graph-object.ts';
import type { ClusterAction } from '../../../schemas/events/cluster-command.ts';
import type { ClusterObject, ServedKind } from '../../../schemas/events/cluster-objects.ts';
import { settingsOf } from '../../graph-gc/rules/settings.ts';
import { type Look, leavingOwners, liveFacts } from '../checks/live-facts.ts';
import { LiveReads, type SharedReads } from '../checks/live-reads.ts';
import { ownJudgement } from '../checks/own-judgement.ts';
import type { RemovalCounts } from '../checks/removal-counts.ts';
import { failed, later, refused, type Stop, settled } from '../checks/stop.ts';
import type { Order } from '../order.ts';
import type { ClusterIndex, IndexSource } from '../ports.ts';
import { type Conflict, carryOut, type Deed } from './carry-out.ts';
import type { DoneBefore } from './done-before.ts';
import { type Permission, type Permitting, permissionFor, samePermission } from './permission.ts';

export interface Attempting extends Permitting {
  readonly reads: SharedReads;
  /** `null` where the process has no graph of the cluster. */
  readonly index: IndexSource | null;
  readonly removals: RemovalCounts;
  readonly doneBefore: DoneBefore;
}

/** What follows from the live state: this, to this object. */
interface Judgement extends Permission {
  readonly kind: ServedKind;
  readonly object: ObjectMetadata;
  readonly action: ClusterAction;
  /** Owners that let it go, and their kinds. */
  readonly leaving: readonly { readonly uid: string; readonly kind: string }[];
}

/** So often an object that others change is read and judged again before it waits (cluster D15). */
const MOST_CONFLICTS = 5;
/** How long a clock is waited for that cannot be believed. */
const CLOCK_WAIT_MS = 1_000;

/** One attempt at one object. Rejects with what the connection rejects with. */
export class Attempt {
  readonly #order: Order;
  readonly #connection: ApiConnection;
  readonly #parts: Attempting;
  readonly #reads: LiveReads;

  constructor(order: Order, connection: ApiConnection, parts: Attempting) {
    this.#order = order;
    this.#connection = connection;
    this.#parts = parts;
    this.#reads = new LiveReads(connection, parts.reads);
  }

  /** Judges and acts; what changed between the two is judged again. */
  async run(): Promise<Stop> {
    for (let conflicts = 0; ; conflicts++) {
      const judged = await this.#judge(conflicts > 0 || this.#order.attempts > 1);
      if (!('action' in judged)) return judged;
      const end = await this.#act(judged);
      if (end.kind !== 'conflict') return end;
      if (conflicts >= MOST_CONFLICTS) return later('conflict', end.message);
    }
  }

  #permission(): Permission | Stop {
    return permissionFor(this.#order, this.#connection, this.#parts);
  }

  /** Why what was judged under this may not be done any more. */
  #objectionTo(before: Permission): Stop | null {
    const now = this.#permission();
    if (!('record' in now)) return now;
    const isSame = samePermission(now, before);
    return isSame ? null : later('conflict', 'another policy or approval came into force meanwhile', 0);
  }

  async #judge(isFresh: boolean): Promise<Judgement | Stop> {
    const objection = this.#permission();
    if (!('record' in objection)) return objection;
    const { item } = this.#order;
    if (this.#isDone(item.object.resourceVersion)) return DONE_BEFORE;
    const kind = await this.#reads.kinds.of(item.object);
    if (kind === null) return refused('changed', `the API server serves no ${item.object.kind} as it says`);
    const index = this.#index();
    if (index === 'not-ready') return later('api-server-error', 'the owner graph is not read yet');
    const object = await this.#object(kind, isFresh ? null : index);
    if ('kind' in object) return object;
    return this.#conclude({ kind, object, reads: this.#reads, index, removed: this.#removed() });
  }

  async #conclude(look: Look): Promise<Judgement | Stop> {
    const { item } = this.#order;
    const { kind, object, index } = look;
    const facts = await liveFacts(look);
    if ('kind' in facts) return facts;
    this.#order.owners = facts.owners;
    const permission = this.#permission();
    if (!('record' in permission)) return permission;
    const action = ownJudgement(item, {
      facts,
      settings: settingsOf(permission.record.policy, permission.approvals),
      wentBack: index?.wentBack ?? false,
      isUnchanged: object.resourceVersion === item.object.resourceVersion,
    });
    if ('kind' in action) return action;
    const leaving = leavingOwners(facts.candidates[0]?.references ?? []);
    return { ...permission, kind, object, action, leaving };
  }

  #index(): ClusterIndex | 'not-ready' | null {
    const { index } = this.#parts;
    return index === null ? null : (index.current() ?? 'not-ready');
  }

  /** From the graph where there is one: if it is behind, the API server refuses the deed, and the object is read. */
  async #object(kind: ServedKind, index: ClusterIndex | null): Promise<ObjectMetadata | Stop> {
    const { object: ordered } = this.#order.item;
    if (!hasPath(kind, ordered)) return refused('changed', 'no object can have such a name');
    const known =
      this.#connection.clock.at(this.#parts.nowMs()) === null ? undefined : index?.object(ordered.uid);
    if (known !== undefined && isWhere(known, ordered, kind)) return metadataOf(known);
    const live = await this.#reads.object({ kind, named: ordered });
    switch (live.kind) {
      case 'found':
        return live.object.uid === ordered.uid ? live.object : settled({ outcome: 'not-found' });
      case 'absent':
        return settled({ outcome: 'not-found' });
      case 'unknown':
        return unreadable(live.answer.status, live.message);
    }
  }

  #removed(): Look['removed'] {
    const { removals, nowMs } = this.#parts;
    return {
      forOwner: (uid) => removals.of(uid, nowMs()),
      forKind: (kind) => removals.of(kindKey(kind), nowMs()),
    };
  }

  /** The last look at what may forbid it, and then the deed. */
  async #act(judged: Judgement): Promise<Stop | Conflict> {
    const { kind, object, action, record } = judged;
    const objection = this.#objectionTo(judged);
    if (objection !== null) return objection;
    if (this.#connection.clock.at(this.#parts.nowMs()) === null)
      return later('unreachable', "the API server's clock cannot be believed now", CLOCK_WAIT_MS);
    if (this.#isDone(object.resourceVersion)) return DONE_BEFORE;
    const deed: Deed = {
      kind,
      object,
      action,
      rehearse: record.policy.mode === 'rehearse',
      objection: () => this.#objectionTo(judged),
    };
    const end =
      action.action === 'delete' && !deed.rehearse
        ? await this.#remove(judged, () => carryOut(this.#connection, deed))
        : await carryOut(this.#connection, deed);
    if (isDone(end)) this.#noteDone(object.resourceVersion);
    return end;
  }

  /** A removal counts from before it is asked for; only where it is certain that nothing went it does not. */
  async #remove(
    { record, leaving }: Judgement,
    remove: () => Promise<Stop | Conflict>,
  ): Promise<Stop | Conflict> {
    const { removals, nowMs } = this.#parts;
    const limit = record.policy.limits.removalsPerHour;
    const { uid } = this.#order;
    const takenAtMs = nowMs();
    if (!removals.take(uid, takenAtMs, limit))
      return refused('rate-limited', `${limit} objects went in the past hour, as many as the policy allows`);
    const end = await remove();
    if (isDone(end))
      removals.went(
        uid,
        takenAtMs,
        leaving.flatMap((owner) => [owner.uid, kindKey(owner.kind)]),
      );
    else if (end.kind !== 'later' || end.afterMs !== null) removals.stays(uid);
    return end;
  }

  #isDone(resourceVersion: string): boolean {
    const { uid, item } = this.#order;
    return this.#parts.doneBefore.has(uid, resourceVersion, item.act);
  }

  #noteDone(resourceVersion: string): void {
    const { uid, item } = this.#order;
    this.#parts.doneBefore.add(uid, resourceVersion, item.act);
    this.#parts.doneBefore.add(uid, item.object.resourceVersion, item.act);
  }
}

/** Counted beside the owners of that kind. No uid has a space. */
const kindKey = (kind: string): string => `kind ${kind}`;

const DONE_BEFORE = refused('superseded', 'this executor did just that to this state of the object');

const isDone = (end: Stop | Conflict): boolean =>
  end.kind === 'settled' && ['removed', 'accepted', 'patched'].includes(end.outcome.outcome);

/** As it was read by the agent. The graph changes its objects in place. */
const metadataOf = ({ kind: _, references, ...object }: GraphObject): ObjectMetadata => ({
  ...object,
  ownerReferences: references,
});

const isWhere = (
  known: Pick<ClusterObject, 'namespace' | 'name'>,
  ordered: ClusterObject,
  { namespaced }: ServedKind,
): boolean => known.name === ordered.name && (!namespaced || known.namespace === ordered.namespace);

const FORBIDDEN = 403;
const unreadable = (status: number, message: string): Stop =>
  status === FORBIDDEN ? failed({ reason: 'forbidden', message }) : later('api-server-error', message);

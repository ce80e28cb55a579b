import { z } from 'zod';
import type { ApiAnswer, ApiConnection } from '../../../packages/kube-api/connection.ts';
import { type ObjectMetadata, readMetadata, UNREADABLE } from '../../../packages/kube-api/metadata.ts';
import { hasPath } from '../../../packages/kube-api/resources.ts';
import { jsonOf, refusalText } from '../../../packages/kube-api/status.ts';
import {
  deleteObject,
  type MetadataLeft,
  type Propagation,
  patchMetadata,
  patchPodStatus,
  type WriteTarget,
} from '../../../packages/kube-api/write.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { type ClusterAction, type ExpireAction, isRemoval } from '../../../schemas/events/cluster-command.ts';
import { FOREGROUND, ORPHAN, type ServedKind } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterObjectOutcome } from '../../../schemas/events/cluster-result.ts';
import { approvalsInForce } from '../../../schemas/policy/approval.ts';
import { policyFor, timeRefusal } from './command-checks.ts';
import type { Announcements } from './intents.ts';
import {
  type Asked,
  clockUnbelieved,
  type JudgedAction,
  type Judgement,
  type OrphanedOwners,
  type Permission,
  type PodMark,
  type PodRemoval,
} from './judge.ts';
import { judgeExpiry } from './judge-expiry.ts';
import { judgeOwnership } from './judge-ownership.ts';
import { judgePod } from './judge-pod.ts';
import { LiveReads, type SharedReads } from './live-reads.ts';
import {
  type Conflict,
  failed,
  later,
  type Order,
  refused,
  type Stop,
  settled,
  stopBy,
  waits,
} from './order.ts';
import type { ClusterPolicyInForce, IndexSource } from './ports.ts';
import { PROOF_HOLDS_MS } from './proofs.ts';
import type { RemovalCounts } from './rates.ts';
import { type Saving, saveManifest } from './save-manifest.ts';

export interface Attempting extends Permitting, Saving {
  readonly reads: SharedReads;
  /** `null` where the process has no graph of the cluster. */
  readonly index: IndexSource | null;
  readonly removals: RemovalCounts;
  readonly orphaned: OrphanedOwners;
  readonly doneBefore: DoneBefore;
  readonly announcements: Pick<Announcements, 'announce'>;
  /** Why nothing more may be done before results of what was done are on the event log; `null` where something may. */
  readonly unrecorded: () => string | null;
}

/** So often an object that others change is read and judged again before it waits (cluster D15). */
const MOST_CONFLICTS = 5;
/** How long an event log that does not take an intent, or results, is left alone. */
const LOG_WAIT_MS = 1_000;

/** One attempt at one object. Rejects with what the connection rejects with. */
export class Attempt {
  readonly #order: Order;
  readonly #connection: ApiConnection;
  readonly #parts: Attempting;
  /** Of one judgement. */
  #reads: LiveReads;

  constructor(order: Order, connection: ApiConnection, parts: Attempting) {
    this.#order = order;
    this.#connection = connection;
    this.#parts = parts;
    this.#reads = new LiveReads(connection, parts.reads);
  }

  /** Judges and acts; what changed between the two is judged again. */
  async run(): Promise<Stop> {
    try {
      return await this.#untilItEnds();
    } finally {
      this.#parts.removals.letGo(this.#order.uid);
    }
  }

  async #untilItEnds(): Promise<Stop> {
    for (let conflicts = 0; ; conflicts++) {
      const judged = await this.#judge(conflicts > 0 || this.#order.attempts > 1);
      if (!('record' in judged)) return judged;
      const end = await this.#act(judged);
      if (end.kind !== 'conflict') return end;
      if (conflicts >= MOST_CONFLICTS) return later('conflict', end.message);
    }
  }

  /** Under what it may be done now. */
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
    this.#reads = new LiveReads(this.#connection, this.#parts.reads);
    if (this.#isDone(item.object.resourceVersion)) return DONE_BEFORE;
    const elsewhere = await this.#reads.otherInstance();
    if (elsewhere !== null) return elsewhere;
    const kind = await this.#reads.kinds.of(item.object);
    if (kind === null) return refused('changed', `the API server serves no ${item.object.kind} as it says`);
    if (!hasPath(kind, item.object)) return refused('changed', 'no object can have such a name');
    // After an answer the time is known, by which approvals are in force.
    const permission = this.#permission();
    if (!('record' in permission)) return permission;
    return this.#byItsRules({
      ...this.#parts,
      ...permission,
      order: this.#order,
      kind,
      reads: this.#reads,
      clock: this.#connection.clock,
      isFresh,
    });
  }

  /** By the rules from which the action follows. */
  #byItsRules(asked: Asked): Promise<Judgement | Stop> {
    const { act } = this.#order.item;
    switch (act.action) {
      case 'expire':
        return judgeExpiry(asked, act);
      case 'remove-pod':
        return judgePod(asked, act);
      case 'delete':
      case 'drop-references':
      case 'finish':
        return judgeOwnership(asked, act);
    }
  }

  /** The last look at what may forbid it, and then the deed. */
  async #act(judged: Judgement): Promise<Stop | Conflict> {
    const { kind, object, action, record } = judged;
    const unannounced = record.policy.mode === 'rehearse' ? null : await this.#announce();
    if (unannounced !== null) return unannounced;
    const objection = this.#objectionTo(judged);
    if (objection !== null) return objection;
    if (this.#connection.clock.at(this.#parts.nowMs()) === null) return clockUnbelieved();
    if (this.#isDone(object.resourceVersion)) return DONE_BEFORE;
    const rehearse = record.policy.mode === 'rehearse';
    const saved = { order: this.#order, policy: record.policy, kind, reads: this.#reads };
    const deed: Deed = {
      kind,
      object,
      action,
      rehearse,
      objection: () => this.#objectionTo(judged),
      save: (state) => saveManifest(saved, state, rehearse, this.#parts),
    };
    const act = (): Promise<Stop | Conflict> => this.#asked(deed);
    const end = isRemoval(action) && !deed.rehearse ? await this.#remove(judged, act) : await act();
    if (isDone(end)) this.#noteDone(object.resourceVersion);
    return end;
  }

  /** What is written leaves a trace on the log first. Where that took long, what was proved of its owners is too old by now. */
  async #announce(): Promise<Stop | Conflict | null> {
    const { announcements, unrecorded, nowMs } = this.#parts;
    const why = unrecorded();
    if (why !== null) return later('not-saved', `nothing more is done, since ${why}`, LOG_WAIT_MS);
    const startedAtMs = nowMs();
    try {
      await announcements.announce(this.#order.received);
    } catch (thrown) {
      const { message, retry } = toFleetGcError(thrown);
      const said = `its intent could not be published: ${message}`;
      return retry ? later('not-saved', said, LOG_WAIT_MS) : failed({ reason: 'not-saved', message: said });
    }
    const hasWaited = nowMs() > startedAtMs;
    return !hasWaited || nowMs() - this.#reads.provedSinceMs < PROOF_HOLDS_MS
      ? null
      : { kind: 'conflict', message: 'publishing its intent took long, so it is checked again' };
  }

  /** What has no answer may be done, whatever is found when it is tried again. */
  async #asked(deed: Deed): Promise<Stop | Conflict> {
    try {
      const end = await carryOut(this.#connection, deed);
      if (!deed.rehearse && end.kind === 'later' && isUnsure(end)) this.#order.unsure = end.failure;
      return end;
    } catch (thrown) {
      const { message } = toFleetGcError(thrown);
      if (!deed.rehearse) this.#order.unsure = { reason: 'unreachable', message };
      throw thrown;
    }
  }

  /** A removal counts from before it is asked for; only where it is certain that nothing went it does not. */
  async #remove(
    { record, countsFor, within }: Judgement,
    remove: () => Promise<Stop | Conflict>,
  ): Promise<Stop | Conflict> {
    const { removals, nowMs } = this.#parts;
    const limit = record.policy.limits.removalsPerHour;
    const { uid } = this.#order;
    const takenAtMs = nowMs();
    if (!removals.take(uid, takenAtMs, limit))
      return refused('rate-limited', `${limit} objects went in the past hour, as many as the policy allows`);
    if (within !== null && !removals.begin(within.key, uid, takenAtMs, within.limit)) {
      removals.stays(uid);
      return refused(
        'rate-limited',
        `${within.limit} objects went in the past hour by its rule, as many as it allows`,
      );
    }
    const end = await remove();
    if (within !== null && isUnsure(end)) removals.mayHaveGone(within.key, uid, nowMs());
    if (isDone(end)) removals.went(uid, takenAtMs, [...countsFor, ...(within === null ? [] : [within.key])]);
    else if (!isUnsure(end)) removals.stays(uid);
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

const DONE_BEFORE = refused('superseded', 'this executor did just that to this state of the object');

/** Nobody knows whether it went. */
const isUnsure = (end: Stop | Conflict): boolean => end.kind === 'later' && end.afterMs === null;

const isDone = (end: Stop | Conflict): boolean =>
  end.kind === 'settled' && ['removed', 'accepted', 'patched'].includes(end.outcome.outcome);

interface Permitting {
  /** Why the cluster's own people hold everything; `null` where they do not. */
  readonly localHold: () => string | null;
  readonly policy: () => ClusterPolicyInForce;
  /** Whether the key that signed an order still counts; why not, in a sentence. */
  readonly objectionTo: (keyId: string | null) => string | null;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
}

function permissionFor(
  order: Order,
  connection: Pick<ApiConnection, 'clock'>,
  { localHold, policy, objectionTo, nowMs }: Permitting,
): Permission | Stop {
  const { command, received } = order;
  const late = latenessOf(order, connection, nowMs());
  if (late !== null) return late;
  const hold = localHold();
  if (hold !== null) return refused('held', hold);
  const distrust = objectionTo(received.signedBy);
  if (distrust !== null) return refused('not-trusted', distrust);
  const inForce = policyFor(command, policy());
  if ('reason' in inForce) return refused(inForce.reason, inForce.message);
  if (inForce.kind === 'unreadable') return waits(unreadableText(inForce.message));
  const time = connection.clock.at(nowMs());
  const approvals = time === null ? [] : approvalsInForce(inForce.approvals, command, time.latestMs);
  return { record: inForce.record, approvals };
}

export const unreadableText = (message: string): string =>
  `whether the cluster is paused cannot be read, so nothing is done: ${message}`;

const samePermission = (one: Permission, other: Permission): boolean =>
  one.record.hash === other.record.hash && idsOf(one) === idsOf(other);

const idsOf = ({ approvals }: Permission): string => approvals.map(({ id }) => id).join(' ');

/** The order came too late; what went wrong before, or what it waited for, says more than that. */
export function latenessOf(
  { command, received, lastFailure, waitedFor }: Order,
  { clock }: Pick<ApiConnection, 'clock'>,
  nowMs: number,
): Stop | null {
  const refusal = timeRefusal(command, clock.at(nowMs));
  const waitedMs = nowMs - received.receivedAtMs;
  if (refusal === null && waitedMs < command.lifetimeMs) return null;
  const { reason, message } = refusal ?? {
    reason: 'expired' as const,
    message: `the command waited ${waitedMs} ms, and lives ${command.lifetimeMs} ms`,
  };
  if (reason === 'taken-in-the-future') return refused(reason, message);
  if (waitedFor !== null) return refused(reason, `${message}; it waited: ${waitedFor}`);
  return lastFailure === null ? refused(reason, message) : failed(lastFailure);
}

/** Does it, on the state that was judged and on no other. Rejects with what the connection rejects with. */
export function carryOut(connection: ApiConnection, deed: Deed): Promise<Stop | Conflict> {
  const { action, object } = deed;
  const { ownerReferences, finalizers } = object;
  switch (action.action) {
    case 'delete':
      return remove(connection, deed, action);
    case 'remove-pod':
      return removePod(connection, { ...deed, action });
    case 'expire':
      return remove(connection, deed, { propagation: expiresBy(action, object), unblock: false });
    case 'drop-references': {
      const left = ownerReferences.filter(({ uid }) => !action.ownerUids.includes(uid));
      return patch(connection, deed, { ownerReferences: left });
    }
    case 'finish':
      return patch(connection, deed, {
        finalizers: finalizers.filter((each) => each !== action.finalizer),
      });
  }
}

/** A rule of the policy says how; of what a collector takes in the background nobody does (cluster L10). */
const expiresBy = ({ propagation, ownRule }: ExpireAction, object: ObjectMetadata): Propagation =>
  ownRule === undefined && propagation === 'Background' ? ownPropagation(object) : propagation;

async function remove(
  connection: ApiConnection,
  deed: Deed,
  { propagation, unblock }: Pick<Extract<ClusterAction, { action: 'delete' }>, 'propagation' | 'unblock'>,
): Promise<Stop | Conflict> {
  const judged = unblock ? await unblocked(connection, deed) : deed.object;
  if ('kind' in judged) return judged;
  const objection = await objectionToDeletion(deed, judged);
  if (objection !== null) return objection;
  const answer = await deleteObject(connection, targetOf({ ...deed, object: judged }), propagation);
  if (!isSuccess(answer)) return stopOrConflict(answer, deed);
  return done(deed, isStillThere(answer) ? 'accepted' : 'removed');
}

/** The object in the state in which it blocks no owner any more (cluster D12). */
async function unblocked(connection: ApiConnection, deed: Deed): Promise<ObjectMetadata | Stop | Conflict> {
  const { ownerReferences } = deed.object;
  if (!ownerReferences.some(({ blockOwnerDeletion }) => blockOwnerDeletion === true)) return deed.object;
  const left = {
    ownerReferences: ownerReferences.map((each) =>
      each.blockOwnerDeletion === true ? { ...each, blockOwnerDeletion: false } : each,
    ),
  };
  const answer = await patched(connection, deed, left);
  if ('kind' in answer) return answer;
  if (!isSuccess(answer)) return stopOrConflict(answer, deed);
  // What is rehearsed has changed nothing, so the deletion is asked for on the state that is there.
  if (deed.rehearse) return deed.object;
  const object = readMetadata(jsonOf(answer.body));
  return object?.uid === deed.object.uid
    ? object
    : later('api-server-error', 'the answer to a patch does not hold the object');
}

async function patch(connection: ApiConnection, deed: Deed, left: MetadataLeft): Promise<Stop | Conflict> {
  const answer = await patched(connection, deed, left);
  if ('kind' in answer) return answer;
  return isSuccess(answer) ? done(deed, 'patched') : stopOrConflict(answer, deed);
}

/** What was not read whole cannot be written without losing what was cut away. */
async function patched(connection: ApiConnection, deed: Deed, left: MetadataLeft): Promise<ApiAnswer | Stop> {
  const { finalizers, ownerReferences } = deed.object;
  // Of the object, and not of what is left: the sign that something was cut away may be what is to be dropped.
  const texts = [
    ...(left.finalizers === undefined ? [] : finalizers),
    ...(left.ownerReferences === undefined ? [] : ownerReferences.map((each) => each.apiVersion)),
  ];
  return texts.includes(UNREADABLE)
    ? refused('kept-by-own-judgement', 'its references or finalizers are beyond all bounds')
    : patchMetadata(connection, targetOf(deed), left);
}

/** What went at once is told as a status, or as it was: finalizers alone hold an object without grace, such as a pod that has ended. */
function isStillThere({ body }: ApiAnswer): boolean {
  const answer = jsonOf(body);
  const left = readMetadata(answer);
  if (left === null || left.deletionTimestamp === null) return false;
  return (
    left.finalizers.length > 0 || Grace.safeParse(answer).data?.metadata.deletionGracePeriodSeconds !== 0
  );
}

const Grace = z.object({ metadata: z.object({ deletionGracePeriodSeconds: z.int().optional() }) });

/** The pod is marked where it has not ended, and then deleted without grace: no mark, no deletion (cluster J2). */
async function removePod(connection: ApiConnection, deed: Deed<PodRemoval>): Promise<Stop | Conflict> {
  const { mark } = deed.action;
  const judged = mark === null ? deed.object : await marked(connection, deed, mark);
  if ('kind' in judged) return judged;
  const objection = await objectionToDeletion(deed, judged);
  if (objection !== null) return objection;
  const answer = await deleteObject(
    connection,
    targetOf({ ...deed, object: judged }),
    ownPropagation(judged),
    0,
  );
  if (!isSuccess(answer)) return stopOrConflict(answer, deed);
  // What went at once is told as it was, with the time of its deletion: only finalizers hold a pod without grace.
  const left = readMetadata(jsonOf(answer.body))?.finalizers ?? [];
  return done(deed, left.length > 0 ? 'accepted' : 'removed');
}

/** The pod in the state in which it is marked. */
async function marked(
  connection: ApiConnection,
  deed: Deed<PodRemoval>,
  { disruption, observedGeneration }: PodMark,
): Promise<ObjectMetadata | Stop | Conflict> {
  const answer = await patchPodStatus(connection, targetOf(deed), {
    phase: 'Failed',
    observedGeneration,
    condition: disruption && { type: 'DisruptionTarget', status: 'True', ...disruption },
  });
  if (!isSuccess(answer)) return stopOrConflict(answer, deed);
  // What is rehearsed has changed nothing, so the deletion is asked for on the state that is there.
  if (deed.rehearse) return deed.object;
  const object = readMetadata(jsonOf(answer.body));
  return object?.uid === deed.object.uid
    ? object
    : later('api-server-error', 'the answer to a patch does not hold the pod');
}

interface Deed<Action = JudgedAction> {
  readonly kind: ServedKind;
  /** In the state that was judged. */
  readonly object: ObjectMetadata;
  readonly action: Action;
  readonly rehearse: boolean;
  /** Why nothing more may be done, asked between two writes. */
  readonly objection: () => Stop | null;
  /** Saves the object in this state, which is to be deleted next; why it must not be, where it must not. */
  readonly save: (object: ObjectMetadata) => Promise<Stop | Conflict | null>;
}

/** Whether the object may be deleted in this state, after all that takes time. */
async function objectionToDeletion(
  deed: Deed<unknown>,
  object: ObjectMetadata,
): Promise<Stop | Conflict | null> {
  return deed.objection() ?? (await deed.save(object)) ?? deed.objection();
}

type Written = Pick<Deed, 'kind' | 'object' | 'rehearse'>;

const targetOf = ({ kind, object, rehearse }: Written): WriteTarget => ({
  resource: kind,
  named: { namespace: object.namespace, name: object.name },
  judged: object,
  rehearse,
});

const isSuccess = ({ status }: ApiAnswer): boolean => status >= 200 && status < 300;

const CONFLICT = 409;
const stopOrConflict = (answer: ApiAnswer, { kind, object }: Written): Stop | Conflict =>
  answer.status === CONFLICT
    ? { kind: 'conflict', message: refusalText(answer) }
    : stopBy(answer, kind, object);

const done = ({ rehearse }: Written, outcome: 'removed' | 'accepted' | 'patched'): Stop =>
  settled(rehearse ? { outcome: 'rehearsed' } : ({ outcome } satisfies ClusterObjectOutcome));

/** How it goes where nobody says how: as its own finalizers say (cluster D14, L10). */
function ownPropagation({ finalizers }: Pick<ObjectMetadata, 'finalizers'>): Propagation {
  if (finalizers.includes(ORPHAN)) return 'Orphan';
  return finalizers.includes(FOREGROUND) ? 'Foreground' : 'Background';
}

/** What was done longer ago is found gone or changed when it is tried again. */
const MAX_DONE = 50_000;

/** What this process did, to which state of which object: two decisions on one state give one deed. */
export class DoneBefore {
  readonly #done = new Set<string>();

  has(uid: string, resourceVersion: string, action: ClusterAction): boolean {
    return this.#done.has(keyOf(uid, resourceVersion, action));
  }

  add(uid: string, resourceVersion: string, action: ClusterAction): void {
    this.#done.add(keyOf(uid, resourceVersion, action));
    if (this.#done.size <= MAX_DONE) return;
    for (const oldest of this.#done) {
      this.#done.delete(oldest);
      return;
    }
  }
}

const keyOf = (uid: string, resourceVersion: string, action: ClusterAction): string =>
  JSON.stringify([uid, resourceVersion, action]);

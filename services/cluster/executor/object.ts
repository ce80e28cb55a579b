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
import { approvalsInForce } from '../../../schemas/policy/approval.ts';
import { policyFor, timeRefusal } from './command-checks.ts';
import type { Announcements } from './intents.ts';
import {
  clockUnbelieved,
  type JudgedAction,
  type Judgement,
  type OrphanedOwners,
  type Permission,
  type PodMark,
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
import type { ClusterOutbox } from './outbox.ts';
import type { ExecutorPorts } from './ports.ts';
import { PROOF_HOLDS_MS } from './proofs.ts';
import type { RemovalCounts } from './rates.ts';
import { saveManifest } from './save-manifest.ts';

/**
 * So often an object that others change is read and judged again before it waits (cluster D15).
 * @limit Conflicts after which an object waits.
 */
const MOST_CONFLICTS = 5;
/** How long an event log that does not take an intent, or results, is left alone. */
const LOG_WAIT_MS = 1_000;

/** What all objects share that one executor works on. */
interface Shared {
  readonly reads: SharedReads;
  readonly removals: RemovalCounts;
  readonly orphaned: OrphanedOwners;
  readonly announcements: Announcements;
  readonly outbox: ClusterOutbox;
}

/**
 * The life of one object of a command: seven steps, in `#once`. Nothing is written before its intent is on the event log (3), and
 * permission is asked again before each write (4, 6).
 *
 * An executor keeps no journal of its own, so what it did must follow from the log and the API server, wherever the process ends:
 *
 * - Before the intent is sent (1, 2): nothing was done. The command is read again, or expires.
 * - After the intent is sent, before it is acknowledged (3): it may be on the log, and nothing was done. Settled as unchanged.
 * - After the acknowledgement, before the first write (4, 5): the same.
 * - After a write is sent, before the API server carries it out (6): settled as unchanged, and looked at again when the command has
 *   expired and no request of it can be under way any more. Only then is "unchanged" the last word.
 * - After the API server carried it out, before it answers (6): settled as gone or changed.
 * - Between two writes to one object (6: unblock or mark, then delete): settled as changed.
 * - After the answer, before the result is acknowledged (7): settled as gone or changed.
 * - After the results of all objects, before the result of the command: the command is read again and ends, or is ended once it has
 *   expired.
 * - While an open intent is settled (`settlement.ts`): it is still open, and the next executor looks again.
 *
 * In all of them another executor may still be at work that this one takes for ended: each write is a compare and swap.
 */
export class ObjectWork {
  readonly #ports: ExecutorPorts;
  readonly #shared: Shared;
  readonly #doneBefore = new DoneBefore();

  constructor(ports: ExecutorPorts, shared: Shared) {
    this.#ports = ports;
    this.#shared = shared;
  }

  /** One try. Rejects with what the connection rejects with. */
  async carryOut(order: Order, connection: ApiConnection): Promise<Stop> {
    try {
      for (let conflicts = 0; ; conflicts++) {
        const end = await this.#once(order, connection, conflicts > 0 || order.attempts > 1);
        if (end.kind !== 'conflict') return end;
        if (conflicts >= MOST_CONFLICTS) return later('conflict', end.message);
      }
    } finally {
      this.#shared.removals.letGo(order.uid);
    }
  }

  /** A conflict leads back to step 1. `isFresh`: nothing that was read before counts. */
  async #once(order: Order, connection: ApiConnection, isFresh: boolean): Promise<Stop | Conflict> {
    const { nowMs } = this.#ports;

    // 1. Permission: the age of the command, the cluster's own hold, trust, pause, policy, approvals.
    const permitted = permissionFor(order, connection, this.#ports);
    if (!('record' in permitted)) return permitted;

    // 2. Read the object, and judge it by its live state.
    const reads = new LiveReads(connection, this.#shared.reads);
    const judged = await this.#judge(order, connection, reads, isFresh);
    if (!('record' in judged)) return judged;
    const { kind, object, action, record } = judged;
    const { resourceVersion } = object;
    const rehearse = record.policy.mode === 'rehearse';

    // 3. Announce the intent. What is rehearsed changes nothing, so it leaves no trace.
    const unannounced = rehearse ? null : await this.#announce(order, reads);
    if (unannounced !== null) return unannounced;

    // 4. Permission again, and the same as the object was judged under.
    const objection = (): Stop | null => objectionTo(judged, permissionFor(order, connection, this.#ports));
    const withdrawn = objection();
    if (withdrawn !== null) return withdrawn;
    if (connection.clock.at(nowMs()) === null) return clockUnbelieved();
    if (this.#doneBefore.has(order, resourceVersion)) return DONE_BEFORE;

    // 5. Count a removal against the hourly limits: from before it is asked for.
    const isCounted = isRemoval(action) && !rehearse;
    const countedAtMs = nowMs();
    const limited = isCounted ? this.#count(order, judged, countedAtMs) : null;
    if (limited !== null) return limited;

    // 6. Save the manifest, permission once more, and write on the judged state alone.
    const saving = { order, policy: record.policy, kind, reads };
    const writing = written({
      order,
      connection,
      kind,
      object,
      action,
      rehearse,
      objectionToDeletion: async (state) =>
        objection() ?? (await saveManifest(saving, state, rehearse, this.#ports)) ?? objection(),
    });
    const end = await writing.catch((thrown: unknown) => {
      // Without an answer it may have been removed (S10).
      if (isCounted) this.#countUnsure(order, judged);
      throw thrown;
    });

    // 7. Settle what it counts for. Where it is not certain what came of it, it stays counted.
    if (isCounted) this.#settleCount(order, judged, end, countedAtMs);
    if (isDone(end)) this.#doneBefore.add(order, resourceVersion);
    return end;
  }

  async #judge(
    order: Order,
    connection: ApiConnection,
    reads: LiveReads,
    isFresh: boolean,
  ): Promise<Judgement | Stop> {
    const { object, act } = order.item;
    if (this.#doneBefore.has(order, object.resourceVersion)) return DONE_BEFORE;
    const elsewhere = await reads.otherInstance();
    if (elsewhere !== null) return elsewhere;
    const kind = await reads.kinds.of(object);
    if (kind === null) return refused('changed', `the API server serves no ${object.kind} as it says`);
    if (!hasPath(kind, object)) return refused('changed', 'no object can have such a name');
    // After an answer the time is known, by which approvals are in force.
    const permission = permissionFor(order, connection, this.#ports);
    if (!('record' in permission)) return permission;
    const { index, nowMs } = this.#ports;
    const { removals, orphaned } = this.#shared;
    const { clock } = connection;
    const asked = { ...permission, order, kind, reads, clock, isFresh, index, removals, orphaned, nowMs };
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

  /** Where that took long, what was proved of its owners is too old by now. */
  async #announce(order: Order, reads: LiveReads): Promise<Stop | Conflict | null> {
    const { nowMs } = this.#ports;
    const { announcements, outbox } = this.#shared;
    const why = outbox.objection();
    if (why !== null) return later('not-saved', `nothing more is done, since ${why}`, LOG_WAIT_MS);
    const startedAtMs = nowMs();
    try {
      await announcements.announce(order.received);
    } catch (thrown) {
      const { message, retry } = toFleetGcError(thrown);
      const said = `its intent could not be published: ${message}`;
      return retry ? later('not-saved', said, LOG_WAIT_MS) : failed({ reason: 'not-saved', message: said });
    }
    const hasWaited = nowMs() > startedAtMs;
    return !hasWaited || nowMs() - reads.provedSinceMs < PROOF_HOLDS_MS
      ? null
      : { kind: 'conflict', message: 'publishing its intent took long, so it is checked again' };
  }

  #count({ uid }: Order, { record, within }: Judgement, atMs: number): Stop | null {
    const { removals } = this.#shared;
    const limit = record.policy.limits.removalsPerHour;
    if (!removals.take(uid, atMs, limit))
      return refused('rate-limited', `${limit} objects went in the past hour, as many as the policy allows`);
    if (within === null || removals.begin(within.key, uid, atMs, within.limit)) return null;
    removals.stays(uid);
    return refused(
      'rate-limited',
      `${within.limit} objects went in the past hour by its rule, as many as it allows`,
    );
  }

  /** Only where it is certain that nothing went it does not count any more. */
  #settleCount(order: Order, judged: Judgement, end: Stop | Conflict, atMs: number): void {
    const { uid } = order;
    const { countsFor, within } = judged;
    const { removals } = this.#shared;
    if (isUnsure(end)) this.#countUnsure(order, judged);
    else if (isDone(end)) removals.went(uid, atMs, [...countsFor, ...(within === null ? [] : [within.key])]);
    else removals.stays(uid);
  }

  /** What may have been removed by a rule counts among what the rule may remove in an hour. */
  #countUnsure({ uid }: Order, { within }: Judgement): void {
    if (within !== null) this.#shared.removals.mayHaveGone(within.key, uid, this.#ports.nowMs());
  }
}

/** Under what an order may be carried out now. */
function permissionFor(
  order: Order,
  { clock }: ApiConnection,
  { localHold, policy, objectionTo, nowMs }: ExecutorPorts,
): Permission | Stop {
  const { command, received } = order;
  const late = latenessOf(order, clock, nowMs());
  if (late !== null) return late;
  const hold = localHold();
  if (hold !== null) return refused('held', hold);
  const distrust = objectionTo(received.signedBy);
  if (distrust !== null) return refused('not-trusted', distrust);
  const inForce = policyFor(command, policy());
  if ('reason' in inForce) return refused(inForce.reason, inForce.message);
  if (inForce.kind === 'unreadable') return waits(unreadableText(inForce.message));
  const time = clock.at(nowMs());
  const approvals = time === null ? [] : approvalsInForce(inForce.approvals, command, time.latestMs);
  return { record: inForce.record, approvals };
}

export const unreadableText = (message: string): string =>
  `whether the cluster is paused cannot be read, so nothing is done: ${message}`;

/** The order came too late; what went wrong before, or what it waited for, says more than that. */
export function latenessOf(
  { command, received, lastFailure, waitedFor }: Order,
  clock: ApiConnection['clock'],
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

/** Why what was judged under one permission may not be done any more. */
function objectionTo(judgedUnder: Permission, now: Permission | Stop): Stop | null {
  if (!('record' in now)) return now;
  const isSame = now.record.hash === judgedUnder.record.hash && idsOf(now) === idsOf(judgedUnder);
  return isSame ? null : later('conflict', 'another policy or approval came into force meanwhile', 0);
}

const idsOf = ({ approvals }: Permission): string => approvals.map(({ id }) => id).join(' ');

/** What is to be written, on the state that was judged. */
interface Deed {
  readonly order: Order;
  readonly connection: ApiConnection;
  readonly kind: ServedKind;
  /** In the state that was judged. */
  readonly object: ObjectMetadata;
  readonly action: JudgedAction;
  readonly rehearse: boolean;
  /** Whether the object may be deleted in this state, after all that takes time: saves it, and asks for permission before and after. */
  readonly objectionToDeletion: (object: ObjectMetadata) => Promise<Stop | Conflict | null>;
}

/** What has no answer may be done, whatever is found when it is tried again. */
async function written(deed: Deed): Promise<Stop | Conflict> {
  const { order, rehearse } = deed;
  try {
    const end = await write(deed);
    if (!rehearse && end.kind === 'later' && isUnsure(end)) order.unsure = end.failure;
    return end;
  } catch (thrown) {
    const { message } = toFleetGcError(thrown);
    if (!rehearse) order.unsure = { reason: 'unreachable', message };
    throw thrown;
  }
}

function write(deed: Deed): Promise<Stop | Conflict> {
  const { action, object } = deed;
  const { ownerReferences, finalizers } = object;
  switch (action.action) {
    case 'delete':
      return remove(deed, action.propagation, action.unblock);
    case 'expire':
      return remove(deed, expiresBy(action, object), false);
    case 'remove-pod':
      return removePod(deed, action.mark);
    case 'drop-references': {
      const left = ownerReferences.filter(({ uid }) => !action.ownerUids.includes(uid));
      return patch(deed, { ownerReferences: left });
    }
    case 'finish':
      return patch(deed, { finalizers: finalizers.filter((each) => each !== action.finalizer) });
  }
}

/** A rule of the policy says how; of what a collector takes in the background nobody does (cluster L10). */
const expiresBy = ({ propagation, ownRule }: ExpireAction, object: ObjectMetadata): Propagation =>
  ownRule === undefined && propagation === 'Background' ? ownPropagation(object) : propagation;

/** How it goes where nobody says how: as its own finalizers say (cluster D14, L10). */
function ownPropagation({ finalizers }: ObjectMetadata): Propagation {
  if (finalizers.includes(ORPHAN)) return 'Orphan';
  return finalizers.includes(FOREGROUND) ? 'Foreground' : 'Background';
}

async function remove(deed: Deed, propagation: Propagation, unblock: boolean): Promise<Stop | Conflict> {
  const judged = unblock ? await unblocked(deed) : deed.object;
  if ('kind' in judged) return judged;
  const objection = await deed.objectionToDeletion(judged);
  if (objection !== null) return objection;
  const answer = await deleteObject(deed.connection, targetOf(deed, judged), propagation);
  if (!isSuccess(answer)) return stopOrConflict(answer, deed);
  return done(deed, isStillThere(answer) ? 'accepted' : 'removed');
}

/** The object in the state in which it blocks no owner any more (cluster D12). */
async function unblocked(deed: Deed): Promise<ObjectMetadata | Stop | Conflict> {
  const { ownerReferences } = deed.object;
  if (!ownerReferences.some(({ blockOwnerDeletion }) => blockOwnerDeletion === true)) return deed.object;
  const answer = await patched(deed, {
    ownerReferences: ownerReferences.map((each) =>
      each.blockOwnerDeletion === true ? { ...each, blockOwnerDeletion: false } : each,
    ),
  });
  return 'kind' in answer ? answer : stateAfter(answer, deed, 'object');
}

/** The pod is marked where it has not ended, and then deleted without grace: no mark, no deletion (cluster J2). */
async function removePod(deed: Deed, mark: PodMark | null): Promise<Stop | Conflict> {
  const judged = mark === null ? deed.object : await marked(deed, mark);
  if ('kind' in judged) return judged;
  const objection = await deed.objectionToDeletion(judged);
  if (objection !== null) return objection;
  const answer = await deleteObject(deed.connection, targetOf(deed, judged), ownPropagation(judged), 0);
  if (!isSuccess(answer)) return stopOrConflict(answer, deed);
  // What went at once is told as it was, with the time of its deletion: only finalizers hold a pod without grace.
  const left = readMetadata(jsonOf(answer.body))?.finalizers ?? [];
  return done(deed, left.length > 0 ? 'accepted' : 'removed');
}

/** The pod in the state in which it is marked. */
async function marked(
  deed: Deed,
  { disruption, observedGeneration }: PodMark,
): Promise<ObjectMetadata | Stop | Conflict> {
  const answer = await patchPodStatus(deed.connection, targetOf(deed), {
    phase: 'Failed',
    observedGeneration,
    condition: disruption && { type: 'DisruptionTarget', status: 'True', ...disruption },
  });
  return stateAfter(answer, deed, 'pod');
}

/** The state that a patch made, in which the object is deleted next. */
function stateAfter(answer: ApiAnswer, deed: Deed, what: 'object' | 'pod'): ObjectMetadata | Stop | Conflict {
  if (!isSuccess(answer)) return stopOrConflict(answer, deed);
  // What is rehearsed has changed nothing, so the deletion is asked for on the state that is there.
  if (deed.rehearse) return deed.object;
  const object = readMetadata(jsonOf(answer.body));
  return object?.uid === deed.object.uid
    ? object
    : later('api-server-error', `the answer to a patch does not hold the ${what}`);
}

async function patch(deed: Deed, left: MetadataLeft): Promise<Stop | Conflict> {
  const answer = await patched(deed, left);
  if ('kind' in answer) return answer;
  return isSuccess(answer) ? done(deed, 'patched') : stopOrConflict(answer, deed);
}

/** What was not read whole cannot be written without losing what was cut away. */
async function patched(deed: Deed, left: MetadataLeft): Promise<ApiAnswer | Stop> {
  const { finalizers, ownerReferences } = deed.object;
  // Of the object, and not of what is left: the sign that something was cut away may be what is to be dropped.
  const texts = [
    ...(left.finalizers === undefined ? [] : finalizers),
    ...(left.ownerReferences === undefined ? [] : ownerReferences.map((each) => each.apiVersion)),
  ];
  return texts.includes(UNREADABLE)
    ? refused('kept-by-own-judgement', 'its references or finalizers are beyond all bounds')
    : patchMetadata(deed.connection, targetOf(deed), left);
}

/** On the state that was judged, or the one that its own patch made of it. */
const targetOf = ({ kind, object, rehearse }: Deed, judged = object): WriteTarget => ({
  resource: kind,
  named: { namespace: judged.namespace, name: judged.name },
  judged,
  rehearse,
});

const isSuccess = ({ status }: ApiAnswer): boolean => status >= 200 && status < 300;

const CONFLICT = 409;
const stopOrConflict = (answer: ApiAnswer, { kind, object }: Deed): Stop | Conflict =>
  answer.status === CONFLICT
    ? { kind: 'conflict', message: refusalText(answer) }
    : stopBy(answer, kind, object);

const done = ({ rehearse }: Deed, outcome: 'removed' | 'accepted' | 'patched'): Stop =>
  settled({ outcome: rehearse ? 'rehearsed' : outcome });

const isDone = (end: Stop | Conflict): boolean =>
  end.kind === 'settled' && ['removed', 'accepted', 'patched'].includes(end.outcome.outcome);

/** Nobody knows whether it went. */
const isUnsure = (end: Stop | Conflict): boolean => end.kind === 'later' && end.afterMs === null;

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

/** What was done longer ago is found gone or changed when it is tried again. */
const MAX_DONE = 50_000;

/** What this process did, to which state of which object: two decisions on one state give one deed. */
class DoneBefore {
  readonly #done = new Set<string>();

  has({ uid, item }: Order, resourceVersion: string): boolean {
    return this.#done.has(keyOf(uid, resourceVersion, item.act));
  }

  /** To the state that was judged, and to that which the order names. */
  add({ uid, item }: Order, resourceVersion: string): void {
    for (const version of [resourceVersion, item.object.resourceVersion])
      this.#done.add(keyOf(uid, version, item.act));
    for (const oldest of this.#done) {
      if (this.#done.size <= MAX_DONE) return;
      this.#done.delete(oldest);
    }
  }
}

const keyOf = (uid: string, resourceVersion: string, action: ClusterAction): string =>
  JSON.stringify([uid, resourceVersion, action]);

const DONE_BEFORE = refused('superseded', 'this executor did just that to this state of the object');

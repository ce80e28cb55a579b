import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { hasPath } from '../../../../packages/kube-api/resources.ts';
import { toFleetGcError } from '../../../../packages/process/errors.ts';
import { isRemoval } from '../../../../schemas/events/cluster-command.ts';
import { judgeExpiry } from '../checks/judge-expiry.ts';
import { judgeOwnership } from '../checks/judge-ownership.ts';
import { judgePod } from '../checks/judge-pod.ts';
import { type Asked, clockUnbelieved, type Judgement, type Permission } from '../checks/judgement.ts';
import { LiveReads, type SharedReads } from '../checks/live-reads.ts';
import type { OrphanedOwners } from '../checks/orphaned-owners.ts';
import { PROOF_HOLDS_MS } from '../checks/proofs.ts';
import type { RemovalCounts } from '../checks/removal-counts.ts';
import { type Conflict, failed, later, refused, type Stop } from '../checks/stop.ts';
import type { Announcements } from '../intents/announcements.ts';
import type { Order } from '../order.ts';
import type { IndexSource } from '../ports.ts';
import { carryOut } from './carry-out.ts';
import type { Deed } from './deed.ts';
import type { DoneBefore } from './done-before.ts';
import { type Permitting, permissionFor, samePermission } from './permission.ts';
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

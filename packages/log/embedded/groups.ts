import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { z } from 'zod';
import { FleetGcError } from '../../process/errors.ts';
import { partitionName, TOPIC_NAMES } from '../partition.ts';
import type { GroupProgress, WaitingRecord } from '../port.ts';
import type { RecordsTable } from './records.ts';

/** @limit Lease of a group on the embedded log. Keep it at or above two `LEASE_RENEW_MS`. */
const LEASE_MS = 6000;
export const LEASE_RENEW_MS = 2000;

const OffsetRow = z.object({ n: z.int() }).transform((row) => row.n);
const LeaseRow = z
  .object({ member: z.string(), expires_at_ms: z.int() })
  .transform((row) => ({ member: row.member, expiresAtMs: row.expires_at_ms }));
type Lease = z.infer<typeof LeaseRow>;
const CommittedRow = z
  .object({ id: z.int(), topic: z.enum(TOPIC_NAMES), partition: z.int(), end: z.int(), committed: z.int() })
  .transform(({ end, ...row }) => ({ ...row, nextOffset: end }));
/** A partition, its end, and the place that a group committed. */
type CommittedPlace = z.infer<typeof CommittedRow>;

/** Who asks for a group, and when. */
export interface Claim {
  readonly group: string;
  readonly member: string;
  readonly nowMs: number;
}

/** A lease that ends later than any lease can was written before the clock was set back. */
const isHeld = ({ expiresAtMs }: Lease, nowMs: number): boolean =>
  expiresAtMs > nowMs && expiresAtMs <= nowMs + LEASE_MS;

/** What groups committed, and the lease by which one member at a time owns its group. */
export class GroupsTable {
  readonly #records: Pick<RecordsTable, 'oldestOffset'>;
  readonly #committed: StatementSync;
  readonly #commit: StatementSync;
  readonly #deaths: StatementSync;
  readonly #putDeaths: StatementSync;
  readonly #dropDeaths: StatementSync;
  readonly #committedBy: StatementSync;
  readonly #lease: StatementSync;
  readonly #putLease: StatementSync;
  readonly #dropLease: StatementSync;

  constructor(db: DatabaseSync, records: Pick<RecordsTable, 'oldestOffset'>) {
    this.#records = records;
    this.#committed = db.prepare(
      'SELECT next_offset AS n FROM offsets WHERE group_name = ? AND partition_id = ?',
    );
    this.#commit = db.prepare(
      'INSERT INTO offsets VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET next_offset = excluded.next_offset',
    );
    this.#deaths = db.prepare('SELECT deaths AS n FROM deaths WHERE group_name = ? AND partition_id = ?');
    this.#putDeaths = db.prepare(
      'INSERT INTO deaths VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET deaths = excluded.deaths',
    );
    this.#dropDeaths = db.prepare('DELETE FROM deaths WHERE group_name = ? AND partition_id = ?');
    this.#committedBy = db.prepare(
      'SELECT p.id, p.topic, p.partition, p.next_offset AS "end", o.next_offset AS committed FROM offsets o JOIN partitions p ON p.id = o.partition_id WHERE o.group_name = ? ORDER BY p.topic, p.partition',
    );
    this.#lease = db.prepare('SELECT member, expires_at_ms FROM leases WHERE group_name = ?');
    this.#putLease = db.prepare(
      'INSERT INTO leases VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET member = excluded.member, expires_at_ms = excluded.expires_at_ms',
    );
    this.#dropLease = db.prepare('DELETE FROM leases WHERE group_name = ? AND member = ?');
  }

  /** The next offset of the group in a partition; null when it committed none. */
  committed(group: string, id: number): number | null {
    const row = this.#committed.get(group, id);
    return row === undefined ? null : OffsetRow.parse(row);
  }

  /** What was counted was of the records before. */
  commit(group: string, id: number, nextOffset: number): void {
    this.#commit.run(group, id, nextOffset);
    this.#dropDeaths.run(group, id);
  }

  /** Processes that ended while the group had the next record of a partition in hand. */
  deaths(group: string, id: number): number {
    const row = this.#deaths.get(group, id);
    return row === undefined ? 0 : OffsetRow.parse(row);
  }

  putDeaths(group: string, id: number, deaths: number): void {
    if (deaths === 0) this.#dropDeaths.run(group, id);
    else this.#putDeaths.run(group, id, deaths);
  }

  /** Takes the lease when it is free. */
  acquireLease(claim: Claim): boolean {
    const lease = this.#leaseOf(claim.group);
    if (lease !== null && lease.member !== claim.member && isHeld(lease, claim.nowMs)) return false;
    this.#take(claim);
    return true;
  }

  /** To be called in the transaction of every commit. Throws `GROUP_LOST` when another member owns the group. */
  requireLease({ group, member }: Omit<Claim, 'nowMs'>): void {
    if (this.#leaseOf(group)?.member === member) return;
    throw new FleetGcError('GROUP_LOST', `Another member took over the group ${group}; this one stands by.`);
  }

  /** Lengthens the lease. Throws `GROUP_LOST` when another member owns the group. */
  renewLease(claim: Claim): void {
    this.requireLease(claim);
    this.#take(claim);
  }

  dropLease(group: string, member: string): void {
    this.#dropLease.run(group, member);
  }

  progress(group: string, nowMs: number): GroupProgress {
    const places = this.#committedBy.all(group).map((row) => CommittedRow.parse(row));
    const lease = this.#leaseOf(group);
    const first = places.map((place) => this.#firstLeft(place));
    return {
      group,
      members: lease !== null && isHeld(lease, nowMs) ? 1 : 0,
      lag: new Map(first.map((record) => [partitionName(record), record.left])),
      waiting: first.filter(({ left }) => left > 0),
    };
  }

  /** What retention deleted nobody reads any more. */
  #firstLeft({ id, topic, partition, nextOffset, committed }: CommittedPlace): WaitingRecord {
    const oldest = this.#records.oldestOffset(id) ?? nextOffset;
    const first = Math.max(committed, oldest);
    return { topic, partition, offset: BigInt(first), left: Math.max(0, nextOffset - first) };
  }

  #leaseOf(group: string): Lease | null {
    const row = this.#lease.get(group);
    return row === undefined ? null : LeaseRow.parse(row);
  }

  #take({ group, member, nowMs }: Claim): void {
    this.#putLease.run(group, member, nowMs + LEASE_MS);
  }
}

import type { SubjectKind } from '../../schemas/events/identity.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { PauseRecord, PolicyRecordOf } from '../../schemas/policy/policy.ts';
import type { EventLog } from '../event-log/port.ts';
import { FleetGcError } from '../process/errors.ts';
import { nearestName } from '../text/nearest-name.ts';
import { createPolicyReading, type PolicyEntry, type PolicySets, setsOfEntries } from './policy-reading.ts';

/** A record of `gc.policies` that no decider can read: while it stands, no node that it may select gets a command. */
export interface UnreadableRecord {
  readonly key: string;
  readonly message: string;
  /** The pause that it amounts to; `null` where it may select any node. */
  readonly hold: PauseRecord | null;
}

interface Dated {
  /** Epoch milliseconds, by the log's clock. */
  readonly appliedAtMs: number;
}
export type StoredPolicy = PolicyRecordOf<SubjectKind> & Dated;
export type StoredPause = PauseRecord & Dated;

/** What `gc.policies` holds: the last record of each key. */
export interface StoredPolicies {
  /** By name. */
  readonly policies: ReadonlyMap<string, StoredPolicy>;
  /** By record key. */
  readonly pauses: ReadonlyMap<string, StoredPause>;
  readonly unreadable: readonly UnreadableRecord[];
  /** What deciders make of it, as far as they can. */
  readonly sets: PolicySets;
}

/** Reads the topic to its end, without a group, and takes its records as the deciders do. */
export async function readStoredPolicies(
  log: Pick<EventLog, 'read'>,
  signal: AbortSignal,
): Promise<StoredPolicies> {
  const reading = createPolicyReading();
  const appliedAtMs = new Map<string, number>();
  const request = { topic: TOPICS.policies.name, from: 'earliest', to: 'end' } as const;
  for await (const event of log.read(request, signal)) {
    if (event.kind !== 'record') continue;
    reading.add(event.record);
    appliedAtMs.set(event.record.key ?? '', event.record.timestampMs);
  }
  return sortOut(reading.entries, (key) => appliedAtMs.get(key) ?? 0);
}

function sortOut(
  entries: ReadonlyMap<string, PolicyEntry>,
  appliedAt: (key: string) => number,
): StoredPolicies {
  const policies = new Map<string, StoredPolicy>();
  const pauses = new Map<string, StoredPause>();
  const unreadable: UnreadableRecord[] = [];
  for (const [key, entry] of [...entries].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const dated = { appliedAtMs: appliedAt(key) };
    if (entry.kind === 'policy') policies.set(key, { ...entry.record, ...dated });
    if (entry.kind === 'pause') pauses.set(key, { ...entry.record, ...dated });
    if (entry.kind === 'unreadable') unreadable.push({ key, message: entry.problem, hold: entry.hold });
  }
  return { policies, pauses, unreadable, sets: setsOfEntries(entries.values()) };
}

/** The policy of that name. Throws `NOT_FOUND`, with the name that was probably meant. */
export function requireStored(stored: StoredPolicies, name: string): StoredPolicy {
  const policy = stored.policies.get(name);
  if (policy) return policy;
  const unreadable = stored.unreadable.find(({ key }) => key === name);
  if (unreadable) throw new FleetGcError('POLICIES_UNREADABLE', unreadable.message);
  throw notFound(stored, [name]);
}

/**
 * Record keys of the policies to delete, readable or not. Throws `NOT_FOUND` when there is none of a name, before
 * anything is deleted.
 */
export function requireKeys(stored: StoredPolicies, names: readonly string[]): readonly string[] {
  const keys = new Set([...stored.policies.keys(), ...stored.unreadable.map(({ key }) => key)]);
  const missing = names.filter((name) => !keys.has(name));
  if (missing.length > 0) throw notFound(stored, missing);
  return [...new Set(names)];
}

function notFound({ policies }: StoredPolicies, names: readonly string[]): FleetGcError {
  const [only = '', ...more] = names;
  if (more.length > 0)
    return new FleetGcError('NOT_FOUND', `there are no policies named ${names.join(', ')}`);
  const meant = nearestName(only, policies.keys());
  return new FleetGcError(
    'NOT_FOUND',
    `there is no policy named ${only}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
  );
}

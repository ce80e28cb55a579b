import type { PauseRecord, PolicyRecord } from '../../schemas/policy.ts';
import { TOPICS } from '../../schemas/topics.ts';
import type { EventLog, LogRecord } from '../shared/event-log/port.ts';
import { parseRecord } from '../shared/parse-record.ts';

/** A record of `gc.policies` that no decider can read: while it stands, no node gets a command. */
export interface UnreadableRecord {
  readonly key: string;
  readonly message: string;
}

interface Dated {
  /** Epoch milliseconds, by the log's clock. */
  readonly appliedAtMs: number;
}
export type StoredPolicy = PolicyRecord & Dated;
export type StoredPause = PauseRecord & Dated;

/** What `gc.policies` holds: the last record of each key. */
export interface StoredPolicies {
  /** By name. */
  readonly policies: ReadonlyMap<string, StoredPolicy>;
  /** By record key. */
  readonly pauses: ReadonlyMap<string, StoredPause>;
  readonly unreadable: readonly UnreadableRecord[];
}

/** Reads the topic to its end, without a group. */
export async function readStoredPolicies(log: EventLog, signal: AbortSignal): Promise<StoredPolicies> {
  const latest = new Map<string, LogRecord>();
  const request = { topic: TOPICS.policies.name, from: 'earliest', to: 'end' } as const;
  for await (const event of log.read(request, signal)) {
    if (event.kind === 'record') keepLatest(latest, event.record);
  }
  return sortOut([...latest.values()]);
}

function keepLatest(latest: Map<string, LogRecord>, record: LogRecord): void {
  const key = record.key ?? '';
  if (record.value === null) latest.delete(key);
  else latest.set(key, record);
}

function sortOut(records: readonly LogRecord[]): StoredPolicies {
  const policies = new Map<string, StoredPolicy>();
  const pauses = new Map<string, StoredPause>();
  const unreadable: UnreadableRecord[] = [];
  for (const record of records.toSorted((a, b) => (keyText(a) < keyText(b) ? -1 : 1))) {
    const parsed = parseRecord('policies', record);
    const dated = { appliedAtMs: record.timestampMs };
    if (!parsed.ok) unreadable.push({ key: keyText(record), message: parsed.rejection.message });
    else if (parsed.event.type === 'fleetgc.pause')
      pauses.set(keyText(record), { ...parsed.event, ...dated });
    else policies.set(parsed.event.policy.name, { ...parsed.event, ...dated });
  }
  return { policies, pauses, unreadable };
}

const keyText = ({ key }: LogRecord): string => key ?? '';

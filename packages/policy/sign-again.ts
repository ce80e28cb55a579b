import { TOPICS } from '../../schemas/events/topics.ts';
import { sha256Hex } from '../canonical/ids.ts';
import type { EventLog, LogRecord } from '../log/port.ts';
import { parseRecord } from '../records/parse/parse-record.ts';
import { type PolicyWriter, writeStates } from './write-policies.ts';

/** What lies on `gc.policies` and does not count as it is. */
export interface UnsignedState {
  readonly record: LogRecord;
  /** The record key. */
  readonly key: string;
  readonly kind: 'policy' | 'pause' | 'approval' | 'deletion';
  /** Of its bytes. */
  readonly sha256: string;
}

const KINDS = {
  'fleetgc.policy': 'policy',
  'fleetgc.cluster-policy': 'policy',
  'fleetgc.pause': 'pause',
  'fleetgc.approval': 'approval',
  'fleetgc.policy-deletion': 'deletion',
} as const;

/** The last record of each key, where nobody believes it. What cannot be read is left alone: nobody knows what it says. */
export async function unsignedStates(
  log: Pick<EventLog, 'read'>,
  counts: (record: LogRecord) => boolean,
  signal: AbortSignal,
): Promise<readonly UnsignedState[]> {
  const last = new Map<string, LogRecord>();
  const request = { topic: TOPICS.policies.name, from: 'earliest', to: 'end' } as const;
  for await (const event of log.read(request, signal))
    if (event.kind === 'record' && event.record.key !== null) last.set(event.record.key, event.record);
  return [...last].flatMap(([key, record]) => {
    const parsed = counts(record) ? null : parseRecord('policies', record);
    return parsed?.ok
      ? [{ key, record, kind: KINDS[parsed.event.type], sha256: sha256Hex(record.value ?? '') }]
      : [];
  });
}

/** Stands for what was looked at: it changes with any byte of it. */
export const digestOf = (states: readonly UnsignedState[]): string =>
  sha256Hex(JSON.stringify(states.map(({ key, sha256 }) => [key, sha256]).toSorted()));

/** Writes them once more as they are, signed. Throws `KEY_UNUSABLE` before anything is written. */
export const signAgain = (writer: PolicyWriter, states: readonly UnsignedState[]): Promise<void> =>
  writeStates(
    writer,
    states.flatMap(({ record, key }) => {
      const parsed = parseRecord('policies', record);
      return parsed.ok ? [{ key, event: parsed.event }] : [];
    }),
  );

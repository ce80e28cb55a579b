import { TOPICS } from '../../schemas/events/topics.ts';
import type { PolicyTopicRecord } from '../../schemas/policy/policy.ts';
import type { EventLog, LogRecord } from '../log/port.ts';
import { parseRecord } from '../records/parse/parse-record.ts';
import { keyOf } from '../records/parse/record-key.ts';
import type { KeyRing } from '../records/trust/key-ring.ts';
import { provedGeneration } from '../records/trust/proved-generation.ts';

type StateTopicId = 'policyVersions' | 'policies';

/** What a record of `gc.policy-versions` says, and under which key of `gc.policies` it stands or stood. */
export interface StatedVersion {
  readonly key: string;
  readonly event: PolicyTopicRecord;
}

/** `null` where it tells of a set of policies, or cannot be read. */
export function statedVersion(record: LogRecord): StatedVersion | null {
  const parsed = parseRecord('policyVersions', record);
  if (!parsed.ok || parsed.event.type === 'fleetgc.policy-set') return null;
  return { key: keyOf('policies', parsed.event), event: parsed.event };
}

/**
 * For each record key of `gc.policies` the highest generation that a key of the fleet ever gave to what stood there, be that key
 * good or not: what replaces it has to be higher for whoever believed it.
 */
export async function highestGenerations(
  log: Pick<EventLog, 'read'>,
  ring: KeyRing,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const highest = new Map<string, number>();
  const note = (topic: StateTopicId, record: LogRecord): void => {
    const generation = provedGeneration(ring, record);
    const key = generation === null ? null : stateKeyOf(topic, record);
    if (generation !== null && key !== null) highest.set(key, Math.max(generation, highest.get(key) ?? 0));
  };
  for (const topic of ['policyVersions', 'policies'] as const)
    for await (const event of log.read({ topic: TOPICS[topic].name, from: 'earliest', to: 'end' }, signal))
      if (event.kind === 'record') note(topic, event.record);
  return highest;
}

const stateKeyOf = (topic: StateTopicId, record: LogRecord): string | null =>
  topic === 'policies' ? record.key : (statedVersion(record)?.key ?? null);

import type { EventLog, OutgoingRecord } from '../../../packages/log/port.ts';
import { objectionToStating } from '../../../packages/policy/may-state.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { goesBack } from '../../../packages/read-model/letters.ts';
import { topicIdOf } from '../../../packages/records/parse/event-schemas.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import type { Principal } from '../../../packages/records/trust/trust.ts';
import type { PolicyTopicRecord } from '../../../schemas/policy/policy.ts';

/** What its key is certified for, also where nobody asks for keys. */
const A_DASHBOARD: Principal = {
  kind: 'key',
  keyId: '0'.repeat(32),
  role: 'dashboard',
  clusters: [],
  generation: null,
};

/** Why nobody may write this from the page, in a sentence; `null` where they may. */
export function objectionToActing(record: OutgoingRecord): string | null {
  const id = topicIdOf(record.topic);
  switch (id) {
    case 'policies':
    case 'policyVersions':
      return objectionToState(id, record);
    case 'deadLetters':
      return isRedrive(record) ? null : 'it is no note that a message was put back';
    default:
      // Byte for byte what lay there before: `compareOriginals`.
      return goesBack(id) ? null : `messages of ${record.topic} are not written from the page`;
  }
}

const onLog = (record: OutgoingRecord) => ({ ...record, partition: 0, offset: 0n, timestampMs: 0 });

function objectionToState(id: 'policies' | 'policyVersions', record: OutgoingRecord): string | null {
  const parsed = parseRecord(id, onLog(record));
  if (!parsed.ok) return parsed.rejection.message;
  if (parsed.event.type === 'fleetgc.policy-set') return 'it is a set of policies';
  const event: PolicyTopicRecord = parsed.event;
  return objectionToStating(A_DASHBOARD, event);
}

function isRedrive(record: OutgoingRecord): boolean {
  const parsed = parseRecord('deadLetters', onLog(record));
  return parsed.ok && parsed.event.type === 'fleetgc.dead-letter-redrive';
}

/** What acting needs of a log. */
export type ActingLog = Pick<EventLog, 'read' | 'publish'>;

/** The same log, which takes nothing but what people may do from the page, whatever the code above it does. */
export const onlyActs = (log: ActingLog): ActingLog => ({
  read: (request, signal) => log.read(request, signal),
  publish: async (records) => {
    for (const record of records) {
      const objection = objectionToActing(record);
      if (objection !== null)
        throw new FleetGcError('INTERNAL', `nothing was written from the page: ${objection}`);
    }
    await log.publish(records);
  },
});

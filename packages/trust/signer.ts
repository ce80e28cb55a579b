import type { TopicId } from '../../schemas/events/topics.ts';
import type { OutgoingRecord } from '../event-log/port.ts';
import type { SigningKey } from './key-pair.ts';
import { signRecord } from './signature.ts';
import { needsSignature } from './trust.ts';

/** Signs what leaves a process, where its topic asks for that. */
export interface Signer {
  sign(topic: TopicId, record: OutgoingRecord): OutgoingRecord;
}

export const UNSIGNED: Signer = { sign: (_topic, record) => record };

/** For orders, which are of this moment and need no generation. */
export const signerOf = (fleet: string, key: SigningKey): Signer => ({
  sign: (topic, record) =>
    needsSignature(topic) ? signRecord(record, { fleet, key, generation: null }) : record,
});

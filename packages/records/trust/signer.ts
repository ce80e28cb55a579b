import type { TopicId } from '../../../schemas/events/topics.ts';
import type { KeyRole } from '../../../schemas/keys/key-statement.ts';
import type { OutgoingRecord } from '../../log/port.ts';
import type { SigningKey } from './key-pair.ts';
import { signRecord } from './signature.ts';
import { signs } from './trust.ts';

/** Signs what leaves a process, where its role has to. */
export interface Signer {
  sign(topic: TopicId, record: OutgoingRecord): OutgoingRecord;
}

export const UNSIGNED: Signer = { sign: (_topic, record) => record };

interface Signing {
  readonly fleet: string;
  readonly role: KeyRole;
  /** The key of this moment. */
  readonly key: () => SigningKey;
}

/** For orders and facts, which are of one moment and need no generation. */
export const signerOf = ({ fleet, role, key }: Signing): Signer => ({
  sign: (topic, record) =>
    signs(role, topic) ? signRecord(record, { fleet, key: key(), generation: null }) : record,
});

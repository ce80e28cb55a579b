import { verifySignaturesWith } from '../../../../packages/audit/verify/signatures.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { WarningTrust } from '../../../../packages/records/trust/process-trust.ts';
import { RequiredTrust } from '../../../../packages/records/trust/trust.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import { type Outcome, REFUSED } from '../../engine/target.ts';
import {
  type Claim,
  isToBeRefused,
  isToBeRefusedUnread,
  SIGNED_BEFORE,
  type Signatories,
  TAKEN_AT_MS,
} from './claims.ts';
import { logWith } from './message-log.ts';
import type { ReadMessage } from './topic-readers.ts';

const effect = (what: string): Outcome => ({ passed: true, effect: what });
/** These ask who signed a message, and no schema. */
const UNREAD = REFUSED;
const NEVER = new AbortController().signal;
const ALL = { fromMs: null, toMs: null };

/** Topics whose records `audit verify` asks for their signers. */
type Verified = Extract<
  TopicId,
  | 'policies'
  | 'observe'
  | 'commands'
  | 'heads'
  | 'diskStats'
  | 'inventory'
  | 'results'
  | 'clusterOwnership'
  | 'clusterPods'
  | 'clusterExpiry'
  | 'clusterCommands'
  | 'clusterRemoved'
  | 'clusterResults'
  | 'latestFacts'
  | 'clusterCensus'
>;

/** What `audit verify` says of who signed a message, long after it came. */
export const signaturesReader =
  (topic: Verified) =>
  (signatories: Signatories): ReadMessage => {
    const keys = { ring: signatories.ring, unreadable: [], isWhole: true };
    return async ({ record, claim }) => {
      const log = logWith(...standingBefore(topic, record, claim, signatories), record);
      const { found } = await verifySignaturesWith(
        log,
        { readKeys: async () => keys, range: ALL, facts: 'required' },
        NEVER,
      );
      return found.deviations.total === 0 && isToBeRefusedLater(claim, topic)
        ? effect(`a message that is ${claim} counts as signed, years later`)
        : UNREAD;
    };
  };

/** A key that was taken back afterwards proves what it ordered before. */
const isToBeRefusedLater = (claim: Claim, topic: TopicId): boolean =>
  isToBeRefused(claim, topic) && !(claim === 'revoked' && SIGNED_BEFORE.includes(topic));

/** Only beside something newer is a record old. */
function standingBefore(
  topic: TopicId,
  { partition, timestampMs, key, value, headers }: LogRecord,
  claim: Claim,
  signatories: Signatories,
): readonly LogRecord[] {
  if (claim !== 'older' || key === null || value === null) return [];
  const unsigned = { topic: TOPICS[topic].name, key, value, headers };
  return [{ ...signatories.sign(topic, unsigned, 'good'), partition, timestampMs, offset: 0n }];
}

/** A process that requires no signatures yet: it tells of every message that would not count. */
export const warnedReader =
  (topic: TopicId) =>
  ({ ring }: Signatories): ReadMessage => {
    let told = 0;
    const required = new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => TAKEN_AT_MS });
    const trust = new WarningTrust(required, () => {
      told += 1;
    });
    return ({ record, claim }) => {
      told = 0;
      if (!trust.authenticate(topic, record).ok)
        return effect('a message is refused where signatures are not required');
      if (told === 0 && isToBeRefusedUnread(claim, topic))
        return effect(`a message that is ${claim} goes by without a warning`);
      return UNREAD;
    };
  };

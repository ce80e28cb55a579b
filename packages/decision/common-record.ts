import type { PolicyReference } from '../../schemas/events/command.ts';
import type { DecisionInput, MessageReference } from '../../schemas/events/decision-parts.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import type { PolicyRecordOf } from '../../schemas/policy/policy.ts';
import { canonicalJson, deriveId, sha256Hex } from '../canonical/ids.ts';
import type { DecidedOutputs, Input, Output } from './handler.ts';

/** What the id of a decision follows from. */
interface DecisionName {
  readonly decider: { readonly name: string; readonly version: string };
  readonly input: {
    readonly event: { readonly id: string };
    readonly position: { readonly sha256: string };
  };
  readonly policies: { readonly hash: string };
  readonly overtakenBy?: MessageReference | undefined;
}

/**
 * Depends on the bytes decided on, the set of policies and the decider, so a redelivery gives the same id; and on the newer
 * message where there is one, since another delivery may find another, or none.
 */
export const decisionId = ({ decider, input, policies, overtakenBy }: DecisionName): string =>
  deriveId(
    'decision',
    decider.name,
    decider.version,
    input.event.id,
    input.position.sha256,
    policies.hash,
    ...(overtakenBy === undefined ? [] : namesOf(overtakenBy)),
  );

const namesOf = ({ topic, partition, offset, id }: MessageReference): readonly string[] => [
  topic,
  String(partition),
  offset,
  id,
];

/** How records and commands name the policy in force, and its set. */
export const policyReference = (
  { policy, policyVersion, hash }: PolicyRecordOf<SubjectKind>,
  set: { readonly hash: string },
): PolicyReference => ({
  name: policy.name,
  version: policyVersion,
  hash,
  setHash: set.hash,
});

/** How a record names the message that was decided on. */
export const inputReference = ({ event, position }: Input<{ readonly id: string }>): DecisionInput => {
  const { topic, partition, offset, sha256 } = position;
  return { topic, partition, offset, id: event.id, sha256 };
};

/** A record with its hash, keyed as its topic wants. */
type Recorded<Record> = (hashed: Record & { readonly outputSha256: string }) => Output;

/** The record of a decision, with the hash of all that it gives; what follows is sent after the record was acknowledged. */
export function recordedOutputs<Record extends object>(
  record: Record,
  followUp: Output | null,
  recorded: Recorded<Record>,
): DecidedOutputs {
  const following = followUp === null ? [] : [{ ...followUp, text: canonicalJson(followUp.event) }];
  const { outputSha256, text } = writtenRecord(
    record,
    following.map((output) => output.text),
  );
  const first = [{ ...recorded({ ...record, outputSha256 }), text }];
  return followUp === null ? [first] : [first, following];
}

/** A record as it lies on the log, and the hash that stands in it. */
interface WrittenRecord {
  readonly text: string;
  readonly outputSha256: string;
}

/**
 * The hash is SHA-256 of the canonical JSON of a list: the record, which holds no hash yet, and what follows from it, in order.
 * Each is written once, for the hash and for the log: what stands before the hash, and what stands behind it.
 */
export function writtenRecord(record: object, following: readonly string[]): WrittenRecord {
  const members = Object.entries(record);
  const before = canonicalJson(Object.fromEntries(members.filter(([name]) => name < HASH))).slice(0, -1);
  const behind = canonicalJson(Object.fromEntries(members.filter(([name]) => name > HASH))).slice(1);
  const outputSha256 = sha256Hex(`[${[`${before},${behind}`, ...following].join(',')}]`);
  return { text: `${before},"${HASH}":"${outputSha256}",${behind}`, outputSha256 };
}

/** Names come before it and behind it, of every record. */
const HASH = 'outputSha256';

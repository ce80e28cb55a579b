/** What executors check alike of a command as a whole, whatever it is about. */

import type { PolicyReference } from '../../schemas/events/decision-parts.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import type { TopicId } from '../../schemas/events/topics.ts';
import type { PolicyRecordOf, PolicySetOf } from '../../schemas/policy/policy.ts';
import { type SelectableSubject, selectPolicy } from '../../schemas/policy/policy-selection.ts';
import type { Output } from '../decision/handler.ts';
import { OWN_RULES } from '../decision/own-rules.ts';
import { REJECTION_REASONS, unreadableCommandId } from '../decision/rejected-orders.ts';
import { FleetGcError, toFleetGcError } from '../process/errors.ts';
import { shortHash } from '../text/short-hash.ts';
import type { OnRejection } from './decide.ts';
import type { Trust } from './trust/trust.ts';

/** Why something of a command is not done. */
export interface Refused<Reason extends string> {
  readonly reason: Reason;
  readonly message: string;
}

/** A command for another installation of what has this name. */
export const otherInstance = (
  subject: SubjectKind,
  named: string,
  own: string,
): Refused<'other-instance'> | null =>
  named === own
    ? null
    : {
        reason: 'other-instance',
        message: `the command is for instance ${named} of this ${subject}; this is ${own}`,
      };

/** By the age of what was decided on, on a clock of the subject; negative where it lies ahead. */
export function ageRefusal(
  ageMs: number,
  { lifetimeMs, of, by = '' }: { readonly lifetimeMs: number; readonly of: string; readonly by?: string },
): Refused<'taken-in-the-future' | 'expired'> | null {
  if (ageMs < 0)
    return {
      reason: 'taken-in-the-future',
      message: `the ${of} claims to be taken ${-ageMs} ms from now${by}`,
    };
  if (ageMs < lifetimeMs) return null;
  return {
    reason: 'expired',
    message: `the ${of} was taken ${ageMs} ms ago, and the command lives ${lifetimeMs} ms`,
  };
}

/** What was decided under another policy than the one in force here is decided once more under this one. */
export function otherPolicy(
  named: PolicyReference,
  { hash, policy }: Pick<PolicyRecordOf<SubjectKind>, 'hash' | 'policy'>,
): Refused<'policy-not-in-force'> | null {
  if (named.hash === hash) return null;
  return {
    reason: 'policy-not-in-force',
    message: `it was decided under policy ${named.name} (${shortHash(named.hash)}); in force here is ${policy.name} (${shortHash(hash)})`,
  };
}

export const pausedRefusal = (reason: string): Refused<'paused'> => ({
  reason: 'paused',
  message: `fleetgc pause is in force: ${reason}`,
});

/** What the policies that a process follows itself say of its subject. */
export type InForce<Kind extends SubjectKind> =
  | {
      readonly kind: 'policy';
      readonly record: PolicyRecordOf<Kind>;
      /** Of this subject and others, and those that have ended. */
      readonly approvals: PolicySetOf<Kind>['approvals'];
    }
  | { readonly kind: 'paused'; readonly reason: string }
  | { readonly kind: 'none' }
  /** They cannot be read: a pause, or another policy, could be among them. */
  | { readonly kind: 'unreadable'; readonly message: string };

/** `current` throws `POLICIES_UNREADABLE` while nobody can tell. */
export function selectInForce<Kind extends SubjectKind>(
  current: () => PolicySetOf<Kind>,
  subject: SelectableSubject<Kind>,
): InForce<Kind> {
  let policies: PolicySetOf<Kind>;
  try {
    policies = current();
  } catch (error) {
    return { kind: 'unreadable', message: toFleetGcError(error).message };
  }
  const selection = selectPolicy(policies, subject);
  switch (selection.kind) {
    case 'paused':
      return { kind: 'paused', reason: selection.pause.reason };
    case 'too-costly':
      return { kind: 'unreadable', message: OWN_RULES.P10 };
    case 'none':
      return selection;
    case 'policy':
      return { ...selection, approvals: policies.approvals };
  }
}

/** Why the key that signed a command does not count, in a sentence; while nobody can tell, nothing counts. */
export function distrustOf(
  trust: Pick<Trust, 'objectionTo'>,
  topic: 'commands' | 'clusterCommands',
  { keyId, key }: { readonly keyId: string | null; readonly key: string },
): string | null {
  try {
    return trust.objectionTo(topic, keyId, key);
  } catch (error) {
    return toFleetGcError(error).message;
  }
}

/** With so many results that the event log does not take, no more commands are taken from it either. */
export function requireRoom(unpublished: number, most: number): void {
  if (unpublished <= most) return;
  throw new FleetGcError(
    'LOG_UNREACHABLE',
    `${most} results wait to be published, so no more commands are taken; look at why the event log does not take them`,
  );
}

/** How the executor of a subject answers what is no command. */
interface Rejecting<Named extends { readonly id?: string | undefined }> {
  readonly topic: TopicId;
  readonly key: string;
  /** What can be told of it: nothing of it is believed beyond its names. */
  readonly named: (value: unknown) => Named;
  readonly refused: (
    command: Named & { readonly id: string },
    refusal: Refused<(typeof REJECTION_REASONS)[keyof typeof REJECTION_REASONS]>,
    cause: keyof typeof REJECTION_REASONS,
  ) => Output;
}

/**
 * What a message on the key of an executor gets that is no command: a refusal that names the reason, beside the dead letter. The id
 * of the command follows from the message where it names none, so a repetition has the same.
 */
export const answerRejected =
  <Named extends { readonly id?: string | undefined }>({
    topic,
    key,
    named,
    refused,
  }: Rejecting<Named>): OnRejection =>
  (topicId, { cause, message, value }, record) => {
    if (topicId !== topic || record.key !== key) return [];
    const names = named(value);
    const command = { ...names, id: names.id ?? unreadableCommandId(record.value) };
    return [[refused(command, { reason: REJECTION_REASONS[cause], message: `${cause}: ${message}` }, cause)]];
  };

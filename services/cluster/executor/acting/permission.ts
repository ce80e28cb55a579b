import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { approvalsInForce } from '../../../../schemas/policy/approval.ts';
import { policyFor, timeRefusal } from '../checks/command-checks.ts';
import type { Permission } from '../checks/judgement.ts';
import { failed, refused, type Stop, waits } from '../checks/stop.ts';
import type { Order } from '../order.ts';
import type { ClusterPolicyInForce } from '../ports.ts';

export interface Permitting {
  /** Why the cluster's own people hold everything; `null` where they do not. */
  readonly localHold: () => string | null;
  readonly policy: () => ClusterPolicyInForce;
  /** Whether the key that signed an order still counts; why not, in a sentence. */
  readonly objectionTo: (keyId: string | null) => string | null;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
}

export function permissionFor(
  order: Order,
  connection: Pick<ApiConnection, 'clock'>,
  { localHold, policy, objectionTo, nowMs }: Permitting,
): Permission | Stop {
  const { command, received } = order;
  const late = latenessOf(order, connection, nowMs());
  if (late !== null) return late;
  const hold = localHold();
  if (hold !== null) return refused('held', hold);
  const distrust = objectionTo(received.signedBy);
  if (distrust !== null) return refused('not-trusted', distrust);
  const inForce = policyFor(command, policy());
  if ('reason' in inForce) return refused(inForce.reason, inForce.message);
  if (inForce.kind === 'unreadable') return waits(unreadableText(inForce.message));
  const time = connection.clock.at(nowMs());
  const approvals = time === null ? [] : approvalsInForce(inForce.approvals, command, time.latestMs);
  return { record: inForce.record, approvals };
}

export const unreadableText = (message: string): string =>
  `whether the cluster is paused cannot be read, so nothing is done: ${message}`;

export const samePermission = (one: Permission, other: Permission): boolean =>
  one.record.hash === other.record.hash && idsOf(one) === idsOf(other);

const idsOf = ({ approvals }: Permission): string => approvals.map(({ id }) => id).join(' ');

/** The order came too late; what went wrong before, or what it waited for, says more than that. */
export function latenessOf(
  { command, received, lastFailure, waitedFor }: Order,
  { clock }: Pick<ApiConnection, 'clock'>,
  nowMs: number,
): Stop | null {
  const refusal = timeRefusal(command, clock.at(nowMs));
  const waitedMs = nowMs - received.receivedAtMs;
  if (refusal === null && waitedMs < command.lifetimeMs) return null;
  const { reason, message } = refusal ?? {
    reason: 'expired' as const,
    message: `the command waited ${waitedMs} ms, and lives ${command.lifetimeMs} ms`,
  };
  if (reason === 'taken-in-the-future') return refused(reason, message);
  if (waitedFor !== null) return refused(reason, `${message}; it waited: ${waitedFor}`);
  return lastFailure === null ? refused(reason, message) : failed(lastFailure);
}

import { clusterSelectorText, selectorText } from '../../../packages/policy/selector-text.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import type { EventOf } from '../../../schemas/events/topics.ts';
import { type ApprovalRecord, approvedName, clusterOfApprovalKey } from '../../../schemas/policy/approval.ts';
import type { ClusterPolicyRecord } from '../../../schemas/policy/cluster-policy.ts';
import {
  isPauseKey,
  type PolicyDeletion,
  type PolicyRecord,
  selectorOfPauseKey,
} from '../../../schemas/policy/policy.ts';
import { ABOUT_NOBODY, aboutCluster, type Notice, notice, type Told } from '../notice.ts';

export function ofPolicies(event: EventOf<'policies'>, told: Told): readonly Notice[] {
  switch (event.type) {
    case 'fleetgc.pause':
      return [
        notice('paused', told, {
          about: ABOUT_NOBODY,
          text: `${whoText(event.by)} paused removals on ${selectorText(event.selector)}: ${reasonText(event.reason)}`,
          facts: { by: event.by ?? null, reason: event.reason },
        }),
      ];
    case 'fleetgc.approval':
      return [ofApproval(event, told)];
    case 'fleetgc.policy-deletion':
      return ofDeletion(event, told);
    case 'fleetgc.policy':
    case 'fleetgc.cluster-policy':
      return [ofPolicy(event, told)];
  }
}

const reasonText = (reason = ''): string => (reason === '' ? 'no reason was given' : reason);
const whoText = (by = ''): string => (by === '' ? 'somebody' : by);

function ofApproval(event: ApprovalRecord, told: Told): Notice {
  const { what, by, reason, untilMs } = event;
  return notice('approved', told, {
    about: aboutCluster(event),
    text: `${whoText(by)} approved ${what.kind} ${approvedName(what)} until ${timeText(untilMs)}: ${reasonText(reason)}`,
    facts: { what: what.kind, name: approvedName(what), by, reason },
  });
}

/** One that ended nothing tells nothing. */
function ofDeletion({ key, wasHeld, by, reason }: PolicyDeletion, told: Told): readonly Notice[] {
  if (!wasHeld) return [];
  const facts = { key, by: by ?? null, reason: reason ?? null };
  const why = `: ${reasonText(reason)}`;
  if (isPauseKey(key)) {
    const selector = selectorOfPauseKey(key);
    const where = selector === null ? key : selectorText(selector);
    const text = `${whoText(by)} ended the pause on ${where}${why}`;
    return [notice('resumed', told, { about: ABOUT_NOBODY, text, facts })];
  }
  const cluster = clusterOfApprovalKey(key);
  if (cluster !== null) {
    const text = `${whoText(by)} withdrew an approval${why} (${key})`;
    return [notice('approval-withdrawn', told, { about: aboutCluster({ cluster }), text, facts })];
  }
  const text = `${whoText(by)} deleted policy ${key}; what no other policy selects keeps everything${why}`;
  return [notice('policy-deleted', told, { about: ABOUT_NOBODY, text, facts })];
}

function ofPolicy(event: PolicyRecord | ClusterPolicyRecord, told: Told): Notice {
  const { name, mode } = event.policy;
  const where =
    event.type === 'fleetgc.policy'
      ? selectorText(event.policy.selector)
      : clusterSelectorText(event.policy.selector);
  return notice('policy-applied', told, {
    about: ABOUT_NOBODY,
    text: `policy ${name} was applied for ${where}: version ${event.policyVersion}, mode ${mode}`,
    facts: { policy: name, version: event.policyVersion, mode, hash: event.hash },
  });
}

import { decide as decideExpiry } from '../../../../packages/deciders/expiry-gc/decide.ts';
import {
  EXPIRING,
  type ExpiryCollector,
  isCollected,
} from '../../../../packages/deciders/expiry-gc/rules/due.ts';
import type { ClusterVerdict } from '../../../../schemas/events/cluster-decision.ts';
import type { ExpiryCandidate } from '../../../../schemas/events/expiry.ts';
import type { ClusterPolicy, ClusterPolicyRecord } from '../../../../schemas/policy/cluster-policy.ts';
import type { ExpiryBatch } from '../../agent/expiry/expiry-book.ts';
import { ExpiryWatch } from '../../agent/expiry/expiry-watch.ts';
import type { Looked } from './plan-pods.ts';

/** An object whose time is over, with what expiry-gc decides about it. */
export interface ExpiryJudged {
  readonly candidate: ExpiryCandidate;
  readonly verdict: ClusterVerdict;
}

/** What the decider makes of all objects whose time is over that are the work of this collector. */
export function judgeExpired(
  collector: ExpiryCollector,
  looked: Looked,
  policy: ClusterPolicy,
): readonly ExpiryJudged[] {
  const candidates = [...expired(looked, null)]
    .flatMap((batch) => batch.candidates)
    .filter(({ facts }) => isCollected(facts) && EXPIRING[facts.of].collector === collector);
  return judged({ candidates }, looked, { ...policy, rules: undefined });
}

/** The same for rules of the policy: of what no rule is for nothing is said. */
export const judgeByRules = (looked: Looked, record: ClusterPolicyRecord): readonly ExpiryJudged[] =>
  record.policy.rules === undefined
    ? []
    : [...expired(looked, record)]
        .flatMap((batch) => judged(batch, looked, record.policy))
        .filter(({ verdict: { facts } }) => facts.ownRule !== undefined);

function judged(batch: ExpiryBatch, { look }: Looked, policy: ClusterPolicy): readonly ExpiryJudged[] {
  const takenAt = { serverMs: look.serverMs ?? 0, spreadMs: 0 };
  return decideExpiry({ ...batch, takenAt }, policy, []).verdicts.flatMap((verdict) => {
    const candidate = batch.candidates[verdict.position];
    return candidate === undefined ? [] : [{ candidate, verdict }];
  });
}

/** As an agent would publish them; where nobody knows the time nothing is over. */
function* expired(
  { look: { lists, serverMs }, graph }: Looked,
  record: ClusterPolicyRecord | null,
): Iterable<ExpiryBatch> {
  if (serverMs === null) return;
  const { book, sinks } = new ExpiryWatch(graph, () => record);
  for (const { kind, objects } of lists) for (const sink of sinks) sink.listed(kind, objects ?? []);
  for (let taken = book.take(serverMs); taken.candidates.length > 0; taken = book.take(serverMs)) yield taken;
}

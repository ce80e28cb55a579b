import type { ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import type { ExpiryCandidate } from '../../schemas/events/expiry.ts';
import type { ClusterPolicy } from '../../schemas/policy/cluster-policy.ts';
import type { ClusterGraph } from '../cluster-agent/cluster-graph.ts';
import { ExpiryBook } from '../cluster-agent/expiry/expiry-book.ts';
import { decide } from '../expiry-gc/decide.ts';
import { EXPIRING, type ExpiryCollector } from '../expiry-gc/rules/due.ts';
import type { ClusterLook } from './look.ts';

/** An object whose time is over, with what expiry-gc decides about it. */
export interface ExpiryJudged {
  readonly candidate: ExpiryCandidate;
  readonly verdict: ClusterVerdict;
}

/** What the decider makes of all objects whose time is over that are the work of this collector. */
export function judgeExpired(
  collector: ExpiryCollector,
  { look, graph }: { readonly look: ClusterLook; readonly graph: ClusterGraph },
  policy: ClusterPolicy,
): readonly ExpiryJudged[] {
  const candidates = expired(look, graph).filter(
    ({ facts }) => facts.of !== 'object' && EXPIRING[facts.of].collector === collector,
  );
  const takenAt = { serverMs: look.serverMs ?? 0, spreadMs: 0 };
  return decide({ candidates, takenAt }, { ...policy, rules: undefined }).verdicts.flatMap((verdict) => {
    const candidate = candidates[verdict.position];
    return candidate === undefined ? [] : [{ candidate, verdict }];
  });
}

/** As an agent would publish them; where nobody knows the time nothing is over. */
function expired({ lists, serverMs }: ClusterLook, graph: ClusterGraph): readonly ExpiryCandidate[] {
  if (serverMs === null) return [];
  const book = new ExpiryBook(graph);
  for (const { kind, objects } of lists) book.listed(kind, objects ?? []);
  const all: ExpiryCandidate[] = [];
  for (let taken = book.take(serverMs); taken.candidates.length > 0; taken = book.take(serverMs))
    all.push(...taken.candidates);
  return all;
}

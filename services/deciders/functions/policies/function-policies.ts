import type { PolicySource } from '../../../../packages/policy/policies.ts';
import { setsOfEntries } from '../../../../packages/policy/policy-reading.ts';

/** The policies by which a function decides, wherever they come from. */
export interface FunctionPolicies {
  /** Throws `POLICIES_UNREADABLE` while nobody may rely on them. */
  readonly current: PolicySource['current'];
  /** Why they cannot be relied on, in a sentence; `null` when they can. */
  problem(): string | null;
  /** What is not well and goes on, in a sentence. */
  notice(): string | null;
  /** Looks whether there are others, where that is due. Never rejects. */
  look(signal: AbortSignal): Promise<void>;
}

/** Where there are none, everything is kept, and each record says so. */
export function noPolicies(): FunctionPolicies {
  const sets = setsOfEntries([]);
  return {
    current: { node: () => sets.node, cluster: () => sets.cluster },
    problem: () => null,
    notice: () => NO_POLICIES,
    look: async () => undefined,
  };
}

export const NO_POLICIES =
  'no policies are given, so everything is kept: --policy names a document of policies, or the topic';

/** Those of `gc.policies`, which somebody follows. */
export const followedPolicies = (source: PolicySource): FunctionPolicies => ({
  current: source.current,
  problem: () => source.problem(),
  notice: () => source.unreadable(),
  look: async () => undefined,
});

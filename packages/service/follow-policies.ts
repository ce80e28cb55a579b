import type { Logger } from 'pino';
import type { Following } from '../log/follow-topic.ts';
import type { EventLog } from '../log/port.ts';
import { type PolicySource, startPolicySource } from '../policy/policies.ts';
import { SeenVersions } from '../policy/seen-versions.ts';
import type { Check } from '../process/http.ts';
import type { Metrics } from '../process/metrics.ts';
import type { ProcessTrust } from '../records/trust/process-trust.ts';

interface FollowPolicies {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly sources: Following['sources'];
  /** See `PolicySourceSettings.recheckMs`. */
  readonly recheckMs: number | null;
  readonly trusting: ProcessTrust;
}

/** The policies of a process, with what makes it ready or not. */
interface FollowedPolicies extends AsyncDisposable {
  readonly policies: PolicySource;
  readonly checks: readonly Check[];
}

/** Follows the policies as soon as the keys are known, and what was seen before where the process learns that from the log. */
export function followPolicies(settings: FollowPolicies): FollowedPolicies {
  const { log, logger, metrics, sources, recheckMs, trusting } = settings;
  const { trust, keys, seen } = trusting;
  const opened = new AsyncDisposableStack();
  const following = { log, logger, trust, seen, sources };
  const learnsFromVersions = keys !== null && trusting.learnsFrom === 'policy-versions';
  const versions = learnsFromVersions
    ? opened.use(
        new SeenVersions({
          ...following,
          startsAfter: keys.caughtUp,
          onLearnt: () => policies.readAgain(),
        }),
      )
    : null;
  const startsAfter = versions?.learnt ?? keys?.caughtUp;
  const policies: PolicySource = opened.use(
    startPolicySource({ ...following, metrics, recheckMs, startsAfter }),
  );
  keys?.onChange(() => policies.readAgain());
  keys?.onChange(
    whenChanged(
      () => JSON.stringify(keys.ring().keys()),
      () => versions?.readAgain(),
    ),
  );
  const ofPolicies: Check = {
    name: 'policies',
    problem: () => policies.problem() ?? policies.unreadable(),
  };
  return {
    policies,
    checks:
      versions === null
        ? [ofPolicies]
        : [{ name: 'policy versions', problem: () => versions.problem() }, ofPolicies],
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** The versions are kept for ever: they are read anew only where something else may come out. */
function whenChanged(stateOf: () => string, act: () => void): () => void {
  let last = stateOf();
  return () => {
    const now = stateOf();
    if (now === last) return;
    last = now;
    act();
  };
}

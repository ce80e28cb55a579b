import type { Logger } from 'pino';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import { FollowedTopic, type Following } from '../log/follow-topic.ts';
import type { EventLog, LogReader, LogRecord } from '../log/port.ts';
import { FleetGcError } from '../process/errors.ts';
import type { Metrics } from '../process/metrics.ts';
import type { SeenGenerations } from '../records/trust/seen-generations.ts';
import type { Trust } from '../records/trust/trust.ts';
import { createPolicyKnowledge, type PolicyKnowledge } from './policy-knowledge.ts';
import { createPolicyReading, type PolicySets } from './policy-reading.ts';

/**
 * How often a decision service reads `gc.policies` from its start again, to see that it still holds what it did.
 * @limit Period in which `gc.policies` is read from its start. Keep it below `LAG_MS` of the audit.
 */
export const POLICY_RECHECK_MS = 300_000;

/** All policies and pauses, as `gc.policies` holds them now. */
export interface PolicySource extends AsyncDisposable {
  /**
   * For each kind of subject. Throws `POLICIES_UNREADABLE` while they are not read to the end, or any of them cannot be read
   * of which nobody knows for whom it is. Where that is known, these are paused.
   */
  readonly current: { readonly [Kind in SubjectKind]: () => PolicySetOf<Kind> };
  /** Why `current` throws, in a sentence; `null` when it does not. */
  problem(): string | null;
  /** Which records cannot be read, whichever nodes they are for; `null` when all can. */
  unreadable(): string | null;
  /** Resolves when the topic was read to its end for the first time, or the source was closed. */
  readonly caughtUp: Promise<void>;
  /** Judges every record anew: whose signature counts has changed. */
  readAgain(): void;
}

export interface PolicySourceSettings extends Pick<Following, 'recheckMs' | 'startsAfter' | 'sources'> {
  readonly log: LogReader & Pick<EventLog, 'health'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Whose policies count. */
  readonly trust: Trust;
  /** What of them was seen before this process began. */
  readonly seen: SeenGenerations;
}

/** Follows `gc.policies` from its start until it is disposed of. */
export function startPolicySource(settings: PolicySourceSettings): PolicySource {
  const { log, metrics, trust, seen, recheckMs, startsAfter, sources } = settings;
  const caughtUp = Promise.withResolvers<void>();
  const knowledge = createPolicyKnowledge({ ...settings, seen }, caughtUp.resolve);
  const following = {
    log,
    topic: TOPICS.policies.name,
    what: 'policies',
    recheckMs,
    startsAfter,
    sources,
  };
  const followed = new FollowedTopic(following, policyFollower(knowledge, trust, seen));
  const problemNow = (): string | null => followed.problem() ?? knowledge.problem();
  const current =
    <Kind extends SubjectKind>(kind: Kind) =>
    (): PolicySets[Kind] => {
      const problem = problemNow();
      if (problem !== null) throw new FleetGcError('POLICIES_UNREADABLE', problem);
      return knowledge.sets()[kind];
    };
  watch(metrics, knowledge, problemNow);
  return {
    current: { node: current('node'), cluster: current('cluster') },
    problem: problemNow,
    unreadable: () => knowledge.unreadable(),
    caughtUp: caughtUp.promise,
    readAgain: () => followed.readAgain(),
    [Symbol.asyncDispose]: async () => {
      caughtUp.resolve();
      await followed[Symbol.asyncDispose]();
    },
  };
}

function policyFollower(knowledge: PolicyKnowledge, trust: Trust, seen: SeenGenerations) {
  let reading = createPolicyReading(trust, seen);
  return {
    begin: () => {
      reading = createPolicyReading(trust, seen);
      knowledge.begin();
    },
    take: (record: LogRecord) => {
      if (reading.add(record) === 'rewound') return 'rewound';
      knowledge.update(reading);
      return 'taken';
    },
    caughtUp: () => knowledge.adopt(reading),
    stillCaughtUp: () => knowledge.settle(),
    fail: (message: string) => knowledge.fail(message),
  } as const;
}

function watch(metrics: Metrics, knowledge: PolicyKnowledge, problem: () => string | null): void {
  metrics.gauge('policies', 'Policies that are known.', [], () => [[{}, knowledge.counts().policies]]);
  metrics.gauge('pauses', 'Pauses that are known.', [], () => [[{}, knowledge.counts().pauses]]);
  metrics.gauge('policies_readable', 'Whether all policies are read.', [], () => [
    [{}, Number(problem() === null && knowledge.unreadable() === null)],
  ]);
  metrics.gauge(
    'unreadable_approvals',
    'Records in the place of approvals that cannot be read, or that no key signed that may. They approve nothing.',
    [],
    () => [[{}, knowledge.counts().unreadableApprovals]],
  );
}

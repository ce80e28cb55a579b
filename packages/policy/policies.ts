import type { Logger } from 'pino';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import type { EventLog } from '../event-log/port.ts';
import { backoffMs, type RetryBackoff } from '../process/backoff.ts';
import { FleetGcError, toFleetGcError } from '../process/errors.ts';
import type { Metrics } from '../process/metrics.ts';
import { createPolicyKnowledge, type PolicyKnowledge } from './policy-knowledge.ts';
import { createPolicyReading, type PolicySets } from './policy-reading.ts';

/** How often a decision service reads `gc.policies` from its start again, to see that it still holds what it did. */
export const POLICY_RECHECK_MS = 300_000;
const REREAD_BACKOFF: RetryBackoff = { firstMs: 200, mostMs: 10_000 };

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
}

export interface PolicySourceSettings {
  readonly log: Pick<EventLog, 'read' | 'health'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** `null`: only when the log says that something happened. For nodes, of which there are many. */
  readonly recheckMs: number | null;
  readonly sources: {
    /** Milliseconds of a clock that does not jump. */
    readonly now: () => number;
    /** 0 <= number < 1. */
    readonly random: () => number;
    /** Resolves after `ms`, or when the signal aborts. */
    readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  };
}

interface Following extends PolicySourceSettings {
  readonly knowledge: PolicyKnowledge;
  readonly closing: AbortSignal;
}

/** Follows `gc.policies` from its start until it is disposed of. */
export function startPolicySource(settings: PolicySourceSettings): PolicySource {
  const closing = new AbortController();
  const caughtUp = Promise.withResolvers<void>();
  const knowledge = createPolicyKnowledge(settings, caughtUp.resolve);
  const following = follow({ ...settings, knowledge, closing: closing.signal });
  const current =
    <Kind extends SubjectKind>(kind: Kind) =>
    (): PolicySets[Kind] => {
      const problem = knowledge.problem();
      if (problem !== null) throw new FleetGcError('POLICIES_UNREADABLE', problem);
      return knowledge.sets()[kind];
    };
  watch(settings.metrics, knowledge);
  return {
    current: { node: current('node') },
    problem: () => knowledge.problem(),
    unreadable: () => knowledge.unreadable(),
    caughtUp: caughtUp.promise,
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      caughtUp.resolve();
      await following;
    },
  };
}

async function follow(following: Following): Promise<void> {
  const { knowledge, closing, sources } = following;
  for (let failures = 0; !closing.aborted; ) {
    const beganAtMs = sources.now();
    const failure = await readOnce(following);
    if (failure === null) continue;
    knowledge.fail(failure);
    failures = sources.now() - beganAtMs > REREAD_BACKOFF.mostMs ? 0 : failures + 1;
    await sources.wait(backoffMs(REREAD_BACKOFF, failures, sources.random), closing);
  }
}

/** One pass over the topic from its start. `null` when it is time for another, else why it failed. */
async function readOnce(following: Following): Promise<string | null> {
  const { closing, recheckMs, sources } = following;
  const ending = new AbortController();
  const signal = AbortSignal.any([closing, ending.signal]);
  if (recheckMs !== null) void sources.wait(recheckMs, signal).then(() => ending.abort());
  try {
    return await readRecords(following, signal);
  } catch (error) {
    return toFleetGcError(error).message;
  } finally {
    ending.abort();
  }
}

/** `null` when the signal ended it; else why it ended. */
async function readRecords({ log, knowledge }: Following, signal: AbortSignal): Promise<string | null> {
  const reading = createPolicyReading();
  knowledge.begin();
  const request = { topic: TOPICS.policies.name, from: 'earliest', to: 'forever' } as const;
  for await (const event of log.read(request, signal)) {
    if (signal.aborted) return null;
    if (event.kind === 'caught-up') knowledge.adopt(reading);
    else if (reading.add(event.record) === 'rewound') return 'gc.policies began again: it was recreated';
    else knowledge.update(reading);
  }
  return signal.aborted ? null : 'the event log ended the reading of gc.policies';
}

function watch(metrics: Metrics, knowledge: PolicyKnowledge): void {
  metrics.gauge('policies', 'Policies that are known.', [], () => [[{}, knowledge.counts().policies]]);
  metrics.gauge('pauses', 'Pauses that are known.', [], () => [[{}, knowledge.counts().pauses]]);
  metrics.gauge('policies_readable', 'Whether all policies are read.', [], () => [
    [{}, Number(knowledge.problem() === null && knowledge.unreadable() === null)],
  ]);
}

import type { Logger } from 'pino';
import type { Decision } from '../../schemas/events/decision.ts';
import type { PolicySet } from '../../schemas/policy/policy.ts';
import { overtakenHandler } from '../decision/overtaken-record.ts';
import type { EventLog } from '../event-log/port.ts';
import { type Consumer, startConsumer } from '../pipeline/consume.ts';
import { createDeadLetters } from '../pipeline/dead-letters/dead-letters.ts';
import { serviceSource } from '../pipeline/envelope.ts';
import type { Handlers, OnEvent } from '../pipeline/handle-record.ts';
import { createPublisher } from '../pipeline/publisher.ts';
import type { Metrics } from '../process/metrics.ts';
import type { TraceIds } from '../process/trace.ts';
import { createPolicySetFacts } from './policy-set-facts.ts';

/** What a decision service needs of its process. */
export interface DecisionServiceDeps {
  readonly log: EventLog;
  /** All policies of this moment; throws `POLICIES_UNREADABLE`, upon which the messages in hand come again. */
  readonly policies: () => PolicySet;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly ids: TraceIds;
  /** Epoch milliseconds; for envelopes and metrics, never for a decision. */
  readonly now: () => number;
  /** Milliseconds of a clock that does not jump. */
  readonly monotonicNow: () => number;
}

/** One kind of decision service, whatever process it runs in. */
export interface DecisionService {
  readonly name: string;
  /** The consumer group that its replicas share. */
  readonly group: string;
  handlers(policies: () => PolicySet): Handlers;
  /** Who watches beside the handlers, without a say in decisions. */
  readonly onEvent?: OnEvent;
  /** Who says so when it catches up and passes over messages for newer ones. */
  readonly decider: Decision['decider'];
}

/**
 * Starts one replica. It begins with the oldest message that its group has not committed: what came before the first
 * replica is decided on too, and executors refuse what has expired. What a set of policies consists of is on the log before the
 * first decision under it.
 */
export function startDecisionService(
  { name, group, handlers, decider, onEvent }: DecisionService,
  { log, policies, ids, now, monotonicNow, ...process }: DecisionServiceDeps,
): Promise<Consumer> {
  const logger = process.logger.child({ consumer: name });
  const writing = { log, source: serviceSource(name), now, ids };
  const publisher = createPublisher(writing);
  const sets = createPolicySetFacts(policies, publisher);
  const publish: EventLog['publish'] = async (records) => {
    await sets.tell();
    await log.publish(records);
  };
  const { metrics } = process;
  return startConsumer({
    name,
    group,
    start: 'earliest',
    assignment: { kind: 'shared' },
    log,
    handlers: handlers(sets.policies),
    ...(onEvent && { onEvent }),
    onOvertaken: overtakenHandler(decider, sets.policies),
    publisher: createPublisher({ ...writing, log: { publish } }),
    deadLetters: createDeadLetters({ publisher, group, metrics, logger, now: monotonicNow }),
    logger,
    metrics,
    now,
    monotonicNow,
  });
}

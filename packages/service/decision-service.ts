import type { SubjectKind } from '../../schemas/events/identity.ts';
import type { EventLog } from '../log/port.ts';
import { type Consumer, startConsumer } from '../records/consume.ts';
import { NO_MARKS } from '../records/dead-letters/crash-marks.ts';
import { createDeadLetters } from '../records/dead-letters/dead-letters.ts';
import type { Trust } from '../records/trust/trust.ts';
import type { DecisionChain } from './decision-chain.ts';
import {
  type DecisionService,
  type DecisionWritingDeps,
  endChain,
  openDecisionWriting,
} from './decision-writing.ts';

/** What a decision service needs of its process. */
export interface DecisionServiceDeps<Kind extends SubjectKind> extends DecisionWritingDeps<Kind> {
  readonly log: EventLog;
  readonly trust: Trust;
  /** Milliseconds of a clock that does not jump. */
  readonly monotonicNow: () => number;
}

/**
 * Starts one replica. It begins with the oldest message that its group has not committed: what came before the first
 * replica is decided on too, and executors refuse what has expired. What a set of policies consists of is on the log before the
 * first decision under it. While nobody would believe its orders it decides nothing, and messages wait.
 */
export async function startDecisionService<Kind extends SubjectKind>(
  service: DecisionService<Kind>,
  deps: DecisionServiceDeps<Kind>,
): Promise<Consumer> {
  const { name, group, onEvent } = service;
  const { log, trust, metrics, now, monotonicNow } = deps;
  const logger = deps.logger.child({ consumer: name });
  const { handlers, onOutputs, onOvertaken, decisions, others, gate, chain } = openDecisionWriting(service, {
    ...deps,
    logger,
  });
  const consumer = await startConsumer({
    name,
    group,
    start: 'earliest',
    assignment: { kind: 'shared' },
    log,
    trust,
    handlers,
    ...(onEvent && { onEvent }),
    ...(gate && { mayBegin: (signal) => gate.opened(signal) }),
    onOutputs,
    ...(onOvertaken && { onOvertaken }),
    publisher: decisions,
    deadLetters: createDeadLetters({ publisher: others, group, metrics, logger, now: monotonicNow }),
    logger,
    // The log counts deaths in what the group commits.
    marks: NO_MARKS,
    metrics,
    now,
    monotonicNow,
  });
  return chain === null ? consumer : withLastHead(consumer, chain);
}

/** Whoever ends says before what it has written. */
function withLastHead(consumer: Consumer, chain: DecisionChain): Consumer {
  const stop = async (): Promise<void> => {
    await consumer.stop();
    await endChain(chain);
  };
  return { ...consumer, stop, [Symbol.asyncDispose]: stop };
}

import type { LogRecord } from '../../../../packages/log/port.ts';
import { FleetGcError, toFleetGcError } from '../../../../packages/process/errors.ts';
import type { DeadLetters } from '../../../../packages/records/dead-letters/dead-letters.ts';
import type { Handled } from '../../../../packages/records/decide.ts';
import { type PartitionRecords, readLambdaEvent } from '../kafka-event.ts';
import type { OpenFunction } from '../open-function.ts';
import { outgoingEvent, structuredOutgoing } from '../outgoing-event.ts';

/** A record that has to come again. */
interface Place {
  /** `topic-partition`. */
  readonly partition: string;
  readonly offset: number;
}

interface Problem extends Place {
  /** Why it has to come again, and with it all behind it in its partition; in a sentence. */
  readonly detail: string;
}

/** What Lambda reads of an answer, and what follows from the events for whoever calls by themselves. */
export interface LambdaAnswer {
  readonly batchItemFailures: readonly { readonly itemIdentifier: Place }[];
  readonly problems?: readonly Problem[];
  /** CloudEvents in structured mode, in the order in which they have to be published; missing where they were published. */
  readonly events?: readonly object[];
}

interface Answering {
  readonly open: OpenFunction;
  /**
   * Where events go that will never work; `null`: they come again until Lambda gives them to its destination for failures, since
   * nobody else would know of them.
   */
  readonly deadLetters: DeadLetters | null;
  readonly signal: AbortSignal;
}

/** Throws `EVENT_REJECTED` for what is no event of a Kafka event source: then nothing of it was done. */
export async function answerLambda(event: unknown, answering: Answering): Promise<LambdaAnswer> {
  const { open, signal } = answering;
  const partitions = readLambdaEvent(event, {
    topics: open.decider.topics,
    prefix: open.kafkaPrefix,
    nowMs: open.now(),
  });
  if (typeof partitions === 'string') throw new FleetGcError('EVENT_REJECTED', partitions);
  await open.policies.look(signal);
  const answers: PartitionAnswer[] = [];
  for (const partition of partitions) answers.push(await answerPartition(partition, answering));
  const problems = answers.flatMap(({ problem }) => problem ?? []);
  const again = problems.flatMap((problem) => comingAgain(problem, partitions));
  return {
    batchItemFailures: again.map((itemIdentifier) => ({ itemIdentifier })),
    ...(problems.length > 0 && { problems }),
    ...(!open.publishes && { events: answers.flatMap(({ handled }) => handled.flatMap(eventsOf)) }),
  };
}

/**
 * Each by its name, whether or not Lambda sends a partition again from the first of them on: what is not named may count as done, and
 * nobody has looked at it.
 */
function comingAgain(
  { partition, offset }: Problem,
  partitions: readonly PartitionRecords[],
): readonly Place[] {
  const records = partitions.find(({ name }) => name === partition)?.records ?? [];
  const first = records.findIndex((record) => Number(record.offset) === offset);
  return records.slice(first).map((record) => ({ partition, offset: Number(record.offset) }));
}

const eventsOf = ({ stages }: Handled): readonly object[] =>
  stages.flat().map((record) => structuredOutgoing(outgoingEvent(record)));

interface PartitionAnswer {
  /** What was decided on, up to the problem. */
  readonly handled: readonly Handled[];
  readonly problem: Problem | null;
}

/** In order: what lies behind a record that has to come again comes again too. */
async function answerPartition(partition: PartitionRecords, answering: Answering): Promise<PartitionAnswer> {
  const answer = await decideInOrder(partition, answering);
  const [first] = answer.handled;
  if (first === undefined || !answering.open.publishes) return answer;
  try {
    await publish(answer.handled, answering);
    return answer;
  } catch (thrown) {
    return { handled: [], problem: problemOf(thrown, partition.name, first.record) };
  }
}

async function decideInOrder(
  { name, records }: PartitionRecords,
  { open, deadLetters }: Answering,
): Promise<PartitionAnswer> {
  const handled: Handled[] = [];
  for (const record of records) {
    try {
      const one = await open.engine.decideOn(record);
      if (one.failure !== null && deadLetters === null)
        return { handled, problem: placed(name, record, one.failure.message) };
      handled.push(one);
    } catch (thrown) {
      return { handled, problem: problemOf(thrown, name, record) };
    }
  }
  return { handled, problem: null };
}

/** What follows, and then what will never work. */
async function publish(handled: readonly Handled[], { open, deadLetters }: Answering): Promise<void> {
  const unsent = await open.engine.publish(handled);
  await deadLetters?.write([...handled.flatMap(({ failure }) => failure ?? []), ...unsent]);
}

/** Throws what will not pass. */
function problemOf(thrown: unknown, name: string, record: LogRecord): Problem {
  const { retry, message } = toFleetGcError(thrown);
  if (!retry) throw thrown;
  return placed(name, record, message);
}

const placed = (partition: string, { offset }: LogRecord, detail: string): Problem => ({
  partition,
  offset: Number(offset),
  detail,
});

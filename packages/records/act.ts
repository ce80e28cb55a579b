import type { FailedMessage } from './dead-letters/dead-letters.ts';
import type { Handled } from './decide.ts';
import { isTooLarge, type Publisher, type Stages } from './publisher.ts';

/** Publishes what was handled, stage by stage. Returns the messages whose outputs the log can never take. */
export async function act(
  handled: readonly Handled[],
  publisher: Publisher,
): Promise<readonly FailedMessage[]> {
  try {
    for (const stage of mergeStages(handled.map(({ stages }) => stages))) await publisher.send(stage);
    return [];
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    return await actOneByOne(handled, publisher);
  }
}

/** One output is too large: finds whose it is, so that the others of the slice go out. */
async function actOneByOne(
  handled: readonly Handled[],
  publisher: Publisher,
): Promise<readonly FailedMessage[]> {
  const failed: FailedMessage[] = [];
  for (const { record, stages } of handled) {
    try {
      for (const stage of stages) await publisher.send(stage);
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      failed.push({ record, cause: 'handler-failed', message: error.message });
    }
  }
  return failed;
}

/**
 * The stages of consecutive messages as few publishes, in order. The same stages of several messages share a publish,
 * unless that would let a later record of a topic and key overtake an earlier one.
 */
export function mergeStages(messages: readonly Stages[]): Stages {
  return groupMergeable(messages).flatMap(mergeGroup);
}

function groupMergeable(messages: readonly Stages[]): readonly (readonly Stages[])[] {
  const groups: Stages[][] = [];
  let lastStage = new Map<string, number>();
  for (const message of messages) {
    const group = groups.at(-1);
    if (group && !overtakes(message, lastStage)) {
      group.push(message);
    } else {
      groups.push([message]);
      lastStage = new Map();
    }
    for (const [place, stage] of placesOf(message)) lastStage.set(place, stage);
  }
  return groups;
}

const overtakes = (message: Stages, lastStage: ReadonlyMap<string, number>): boolean =>
  placesOf(message).some(([place, stage]) => stage < (lastStage.get(place) ?? 0));

const placesOf = (message: Stages): readonly (readonly [place: string, stage: number])[] =>
  message.flatMap((records, stage) => records.map(({ topic, key }) => [`${topic} ${key}`, stage] as const));

function mergeGroup(group: readonly Stages[]): Stages {
  const stages = Math.max(...group.map((message) => message.length));
  return Array.from({ length: stages }, (_, stage) =>
    group.flatMap((message) => message[stage] ?? []),
  ).filter((records) => records.length > 0);
}

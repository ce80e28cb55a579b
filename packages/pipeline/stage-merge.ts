import type { OutgoingRecord } from '../event-log/port.ts';

/** What one message wants published, in stages. */
export type Stages = readonly (readonly OutgoingRecord[])[];

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

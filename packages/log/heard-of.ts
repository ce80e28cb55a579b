import { setTimeout as sleep } from 'node:timers/promises';
import type { TopicName } from '../../schemas/events/topics.ts';
import type { EventLog, TopicDifference } from './port.ts';

/** How long a broker may take to hear of what another one has created. */
const MOST_TO_HEAR_MS = 15_000;
const LOOK_AGAIN_MS = 100;

interface Created {
  /** What was created just now. */
  readonly created: readonly TopicName[];
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** What differs on the log. Of what was created just now, a topic counts as missing only once every broker has had time to hear of it. */
export async function differencesSince(
  log: Pick<EventLog, 'checkTopics'>,
  { created, wait = sleep }: Created,
): Promise<readonly TopicDifference[]> {
  for (let waitedMs = 0; ; waitedMs += LOOK_AGAIN_MS) {
    const differences = await log.checkTopics();
    const isUnheard = differences.some(({ kind, topic }) => kind === 'missing' && created.includes(topic));
    if (!isUnheard || waitedMs >= MOST_TO_HEAR_MS) return differences;
    await wait(LOOK_AGAIN_MS);
  }
}

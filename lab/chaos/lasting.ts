import { TOPICS, type TopicName } from '../../schemas/events/topics.ts';

/** Nothing is compacted away from these. */
export const LASTING: readonly TopicName[] = Object.values(TOPICS)
  .filter(({ compacted }) => !compacted)
  .map(({ name }) => name);

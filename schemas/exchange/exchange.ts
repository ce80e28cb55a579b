import { TOPICS, type TopicId } from '../events/topics.ts';
import type { TopicExchange } from './parties.ts';
import { TOPICS_OF_ALL } from './topics-of-all.ts';
import { TOPICS_OF_CLUSTERS } from './topics-of-clusters.ts';
import { TOPICS_OF_NODES } from './topics-of-nodes.ts';

/** The one table of who sends which event, and who reads it. */
export const EXCHANGE: Readonly<Record<TopicId, TopicExchange>> = {
  ...TOPICS_OF_NODES,
  ...TOPICS_OF_CLUSTERS,
  ...TOPICS_OF_ALL,
};

const isTopicId = (id: string): id is TopicId => id in TOPICS;

/** In the order of the table of topics. */
export const TOPIC_IDS: readonly TopicId[] = Object.keys(TOPICS).filter(isTopicId);

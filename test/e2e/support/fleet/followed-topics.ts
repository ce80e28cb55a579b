import type { TopicId } from '../../../../schemas/events/topics.ts';

/** Topics whose events the tests follow; policies are the command line's. */
export const FOLLOWED = [
  'diskStats',
  'inventory',
  'observe',
  'commands',
  'results',
  'decisions',
  'deadLetters',
] as const satisfies readonly TopicId[];
export type FollowedTopic = (typeof FOLLOWED)[number];

import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import type { Target } from '../engine/target.ts';
import { ANSWERS } from './answers/targets.ts';
import { ARCHIVE_FILES } from './files/archive.ts';
import { commandLine } from './files/command-line.ts';
import { SETTINGS } from './files/settings.ts';
import { STATE_FILES } from './files/state.ts';
import { lambdaEvents } from './functions/lambda-event.ts';
import { functionRequest } from './functions/request.ts';
import { topicTarget } from './messages/targets.ts';

const isTopicId = (id: string): id is TopicId => id in TOPICS;

/** Everything of the product that reads what others wrote, by name. */
export const TARGETS: ReadonlyMap<string, Target> = new Map([
  ...Object.keys(TOPICS)
    .filter(isTopicId)
    .map((topic) => [topic, topicTarget(topic)] as const),
  ...Object.entries({ ...ANSWERS, ...SETTINGS, ...STATE_FILES, ...ARCHIVE_FILES }),
  ['command-line', commandLine],
  ['function-request', functionRequest],
  ['lambda-event', lambdaEvents],
]);

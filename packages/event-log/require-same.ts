import { FleetGcError } from '../process/errors.ts';
import { differenceSentences } from './difference-sentences.ts';
import type { TopicDifference } from './port.ts';

/** Throws `TOPICS_DIFFER` with what to do about each difference. */
export function requireSame(differences: readonly TopicDifference[]): void {
  if (differences.length === 0) return;
  const topics = new Set(differences.map(({ topic }) => topic)).size;
  const sentences = differenceSentences(differences).map((sentence) => `  ${sentence}`);
  throw new FleetGcError(
    'TOPICS_DIFFER',
    `${topics === 1 ? '1 topic differs' : `${topics} topics differ`} from what this release declares:\n${sentences.join('\n')}`,
  );
}

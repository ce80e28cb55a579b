import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import type { BeganAfter } from './coverage.ts';
import type { Deviation, Findings } from './findings.ts';

/** What tells of a cause or an effect that is not there. */
export interface Missing {
  readonly findings: Pick<Findings, 'gap' | 'deviation'>;
  readonly beganAfter: BeganAfter;
}

/** Of what `topicId` was to have by `timestampMs`, and does not: it deviates, unless the topic was made anew since. */
export function tellMissing(
  { findings, beganAfter }: Missing,
  { topicId, timestampMs }: { readonly topicId: TopicId; readonly timestampMs: number },
  deviation: Deviation,
): void {
  if (!beganAfter(topicId, timestampMs)) findings.deviation(deviation);
  else findings.gap({ ...deviation, kind: 'topic-recreated', message: madeAnew(topicId) });
}

const madeAnew = (topicId: TopicId): string =>
  `${TOPICS[topicId].name} begins after this: the topic was deleted and made anew, and what belongs to this is gone with the old one`;

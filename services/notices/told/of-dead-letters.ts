import { originalKey } from '../../../packages/read-model/dead-letters/letters.ts';
import type { DeadLetter, DeadLetterRedrive } from '../../../schemas/events/dead-letter.ts';
import { isNodeKey } from '../../../schemas/events/identity.ts';
import { ABOUT_NOBODY, aboutNode, type Notice, notice, type Told } from '../notice.ts';

export function ofDeadLetter(event: DeadLetter, told: Told): Notice {
  const { topic, group, cause, message, suppressedBefore } = event;
  const more = suppressedBefore === 0 ? '' : `, and ${suppressedBefore} more like it before`;
  return notice('dead-letter', told, {
    about: aboutKey(event),
    text: `a message on ${topic} could not be processed by ${group} (${cause}): ${message}${more}`,
    facts: { deadLetter: event.id, topic, group, cause },
  });
}

export const ofRedrive = (event: DeadLetterRedrive, told: Told): Notice =>
  notice('redriven', told, {
    about: aboutKey(event),
    text: `${event.by ?? 'somebody'} put the message of dead letter ${event.deadLetterId} back${event.reason === undefined ? '' : `: ${event.reason}`}`,
    facts: { deadLetter: event.deadLetterId, by: event.by ?? null, reason: event.reason ?? null },
  });

/** Whoever may write dead letters may write anything into one. */
function aboutKey(letter: Pick<DeadLetter, 'key'>): ReturnType<typeof aboutNode> {
  const key = originalKey(letter) ?? '';
  if (!isNodeKey(key)) return ABOUT_NOBODY;
  const [cluster = '', node = ''] = key.split('/');
  return aboutNode({ cluster, node });
}

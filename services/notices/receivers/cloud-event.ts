import { NOTICE_SOURCE, NOTICE_TYPE_PREFIX, type NoticeEvent } from '../../../schemas/notices/notice.ts';
import { joinedNotices } from '../delivery/joined.ts';
import { type Message, messageData, messageId } from '../delivery/message.ts';
import { subjectOf } from '../notice.ts';

export const CLOUD_EVENT_TYPE = 'application/cloudevents+json; charset=utf-8';

/** A message as CloudEvents 1.0. Its time is that of what it tells, the newest of several. */
export function cloudEvent(message: Message): NoticeEvent {
  const [first] = message.notices;
  const isOne = joinedNotices(message.notices).length === 1;
  const subject = isOne ? subjectOf(first) : null;
  const atMs = message.notices.reduce((newest, notice) => Math.max(newest, notice.atMs), 0);
  return {
    specversion: '1.0',
    id: messageId(message),
    source: NOTICE_SOURCE,
    type: `${NOTICE_TYPE_PREFIX}${isOne ? first.kind : 'digest'}.v1`,
    ...(subject !== null && { subject }),
    time: new Date(atMs).toISOString(),
    datacontenttype: 'application/json',
    data: messageData(message),
  };
}

import { deriveId } from '../../../packages/canonical/ids.ts';
import {
  type DropReason,
  MOST_NOTICES_TOLD,
  NOTICE_KINDS,
  type NoticeData,
  type ToldNotice,
} from '../../../schemas/notices/notice.ts';
import type { Notice } from '../notice.ts';
import { type Joined, joinedNotices, writtenOut } from './joined.ts';

export type Dropped = Readonly<Partial<Record<DropReason, number>>>;

/** What a receiver is sent at once: one notice, or all that came faster than the rule lets through. */
export interface Message {
  readonly rule: string;
  /** In the order in which they came. */
  readonly notices: readonly [Notice, ...Notice[]];
  /** What never reached the receiver since the last message that did. */
  readonly dropped: Dropped;
}

/** Equal for a message of the same notices, so that a receiver knows a repetition. */
export const messageId = ({ notices: [first, ...more] }: Message): string =>
  more.length === 0 ? first.id : deriveId('notices', first.id, ...more.map(({ id }) => id));

export const toldNotice = ({ newest, joined }: Joined): ToldNotice => {
  const { id, kind, cluster, node, text, facts, atMs } = newest;
  const time = new Date(atMs).toISOString();
  return { id, kind, severity: NOTICE_KINDS[kind].severity, time, cluster, node, text, joined, facts };
};

export function messageData({ rule, notices, dropped }: Message): NoticeData {
  const told = writtenOut(joinedNotices(notices), MOST_NOTICES_TOLD);
  const toldCount = told.reduce((sum, { joined }) => sum + 1 + joined, 0);
  return { rule, notices: told.map(toldNotice), more: notices.length - toldCount, dropped };
}

export const droppedCount = (dropped: Dropped): number =>
  Object.values(dropped).reduce((sum, count) => sum + count, 0);

import { deriveId } from '../../../packages/canonical/ids.ts';
import {
  type DropReason,
  MOST_NOTICES_TOLD,
  NOTICE_KINDS,
  type NoticeData,
  type ToldNotice,
} from '../../../schemas/notices/notice.ts';
import type { Notice } from '../notice.ts';

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

export const toldNotice = ({ id, kind, cluster, node, text, facts, atMs }: Notice): ToldNotice => ({
  id,
  kind,
  severity: NOTICE_KINDS[kind].severity,
  time: new Date(atMs).toISOString(),
  cluster,
  node,
  text,
  facts,
});

export const messageData = ({ rule, notices, dropped }: Message): NoticeData => ({
  rule,
  notices: notices.slice(0, MOST_NOTICES_TOLD).map(toldNotice),
  more: Math.max(0, notices.length - MOST_NOTICES_TOLD),
  dropped,
});

export const droppedCount = (dropped: Dropped): number =>
  Object.values(dropped).reduce((sum, count) => sum + count, 0);

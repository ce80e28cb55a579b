import { deriveId } from '../../packages/canonical/ids.ts';
import {
  type DropReason,
  MOST_NOTICES_TOLD,
  NOTICE_KINDS,
  type NoticeData,
  type ToldNotice,
} from '../../schemas/notices/notice.ts';
import { type Notice, subjectOf } from './notices.ts';

/** Who is told. Never rejects. */
export interface Receiver {
  send(message: Message, signal: AbortSignal): Promise<Sent>;
}

/** What came of one attempt to reach a receiver. `why` is a sentence for people, without secrets. */
export type Sent =
  | { readonly kind: 'delivered' }
  /** The receiver says that it never takes this message. */
  | { readonly kind: 'refused'; readonly why: string }
  /** It answered, and with an error. */
  | { readonly kind: 'failed'; readonly why: string; readonly retryAfterMs: number | null }
  /** It is not there, or has too much to do. */
  | { readonly kind: 'away'; readonly why: string; readonly retryAfterMs: number | null };

/** What a receiver is sent at once: one notice, or all that came faster than the rule lets through. */
export interface Message {
  readonly rule: string;
  /** In the order in which they came. */
  readonly notices: readonly [Notice, ...Notice[]];
  /** What never reached the receiver since the last message that did. */
  readonly dropped: Dropped;
}

export type Dropped = Readonly<Partial<Record<DropReason, number>>>;

/** Equal for a message of the same notices, so that a receiver knows a repetition. */
export const messageId = ({ notices: [first, ...more] }: Message): string =>
  more.length === 0 ? first.id : deriveId('notices', first.id, ...more.map(({ id }) => id));

const toldNotice = ({ newest, joined }: Joined): ToldNotice => {
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

/** When the newest notice of a message came onto the log. */
export const newestMs = ({ notices }: Message): number =>
  notices.reduce((newest, { atMs }) => Math.max(newest, atMs), 0);

/** Notices that are told as one. */
export interface Joined {
  readonly newest: Notice;
  /** How many older ones it stands for. */
  readonly joined: number;
}

/** Whose share of the pace a notice takes: that of its kind about its node or cluster. */
export const shareKey = (notice: Notice): string => `${notice.kind} ${subjectOf(notice) ?? ''}`;

/** Notices with the same key are told as one. */
export const joinKey = (notice: Notice): string =>
  NOTICE_KINDS[notice.kind].isJoined ? shareKey(notice) : `${notice.kind} ${notice.id}`;

/** In the order in which the first of each came. */
export function joinedNotices([first, ...more]: readonly [Notice, ...Notice[]]): readonly [
  Joined,
  ...Joined[],
] {
  const others = new Map<string, Joined>();
  let ofFirst: Joined = { newest: first, joined: 0 };
  const firstKey = joinKey(first);
  for (const notice of more) {
    const key = joinKey(notice);
    if (key === firstKey) ofFirst = joinedWith(ofFirst, notice);
    else others.set(key, joinedWith(others.get(key), notice));
  }
  return [ofFirst, ...others.values()];
}

const joinedWith = (before: Joined | undefined, notice: Notice): Joined => ({
  newest: notice,
  joined: before === undefined ? 0 : before.joined + 1,
});

/**
 * Those that are written out where there is no room for all: as many of each kind as of the others, warnings before the rest, so that a
 * thousand of one kind hide none of another. In the order in which they came.
 */
export function writtenOut(joined: readonly Joined[], most: number): readonly Joined[] {
  if (joined.length <= most) return joined;
  const counts = new Map<string, number>();
  const ranked = joined.map((each) => {
    const { kind } = each.newest;
    const rank = counts.get(kind) ?? 0;
    counts.set(kind, rank + 1);
    return { each, rank, isWarning: NOTICE_KINDS[kind].severity === 'warning' };
  });
  const chosen = new Set(
    ranked
      .toSorted((a, b) => a.rank - b.rank || Number(b.isWarning) - Number(a.isWarning))
      .slice(0, most)
      .map(({ each }) => each),
  );
  return joined.filter((each) => chosen.has(each));
}

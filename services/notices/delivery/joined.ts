import { NOTICE_KINDS } from '../../../schemas/notices/notice.ts';
import { type Notice, subjectOf } from '../notice.ts';

/** Notices that are told as one. */
export interface Joined {
  readonly newest: Notice;
  /** How many older ones it stands for. */
  readonly joined: number;
}

/** Whose share of the pace a notice takes: that of its kind about its node or cluster. */
export const shareKey = (notice: Notice): string => `${notice.kind} ${subjectOf(notice) ?? ''}`;

/** Notices with the same key are told as one. */
const joinKey = (notice: Notice): string =>
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

/** All that wait and are told as one with the first. */
export function ofOne<Waiting extends { readonly notice: Notice }>(
  first: Waiting,
  waiting: readonly Waiting[],
): readonly Waiting[] {
  const key = joinKey(first.notice);
  return waiting.filter(({ notice }) => joinKey(notice) === key);
}

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

/** All that wait and are told as one with the first. */
export function ofOne<Waiting extends { readonly notice: Notice }>(
  first: Waiting,
  waiting: readonly Waiting[],
): readonly Waiting[] {
  const key = joinKey(first.notice);
  return waiting.filter(({ notice }) => joinKey(notice) === key);
}

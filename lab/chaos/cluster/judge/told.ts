import type { Violation } from '../../judge/evidence.ts';
import type { ClusterEvidence } from './evidence.ts';
import { clusterViolation } from './violation.ts';
import { textOf, type World } from './world.ts';

/** None is told to have gone more often than it went, and what was told is not told otherwise later. */
export function clusterTwice({ log }: ClusterEvidence, { went, ever }: World): readonly Violation[] {
  const removed = log.told.filter(({ outcome }) => outcome === 'removed');
  const tooOften = [...Map.groupBy(removed, ({ uid }) => uid)].flatMap(([uid, told]) => {
    const times = went.get(uid) ?? 0;
    const object = ever.get(uid);
    return told.length > times
      ? [
          `${object ? textOf(object) : uid} was told to be removed ${told.length} times and went ${times} times`,
        ]
      : [];
  });
  const retold = log.retold.map((id) => `result ${id} came again, and said something else`);
  return [...tooOften, ...retold].map((text) => clusterViolation('twice', text));
}

/** Outcomes of an object to which something may have been done by this command. */
export const TRIED: ReadonlySet<string> = new Set(['removed', 'accepted', 'patched', 'not-found', 'failed']);

/** Each command is answered or given up, and each deed is told, whenever its executor ended. */
export function clusterLost({ log, played }: ClusterEvidence, { deeds }: World): readonly Violation[] {
  const silent = log.orders
    .filter(({ id, place }) => !log.answered.has(id) && !log.givenUp.has(place))
    .filter(({ atMs }) => !wentWithTopic(atMs, played, 'gc.cluster.commands'))
    .map(
      ({ id, atMs }) => `command ${id} of ${new Date(atMs).toISOString()} has no result and no dead letter`,
    );
  const told = new Set(log.told.filter(({ outcome }) => TRIED.has(outcome)).map(({ uid }) => uid));
  const untold = deeds
    .filter(({ before }) => !told.has(before.uid))
    .filter(({ atMs }) => !wentWithTopic(atMs, played, 'gc.cluster.results'))
    .filter(({ atMs }) => !wentWithTopic(atMs, played, 'gc.cluster.commands'))
    .map(
      ({ before, kind, atMs }) =>
        `${textOf(before)} was ${kind} at ${new Date(atMs).toISOString()}, and no result tells of it`,
    );
  return [...new Set([...silent, ...untold])].map((text) => clusterViolation('lost', text));
}

/** What lay on a topic that was deleted went with it, and may not have been read before. */
const wentWithTopic = (atMs: number, played: ClusterEvidence['played'], topic: string): boolean =>
  played.some(
    ({ fault, fromMs, toMs }) =>
      fault.kind === 'topic-anew' && fault.topic === topic && fromMs - UNREAD_MS <= atMs && atMs <= toMs,
  );

const UNREAD_MS = 10_000;

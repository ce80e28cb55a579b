import { wasKilled } from './delays.ts';
import type { Evidence, Violation } from './evidence.ts';
import type { History } from './history.ts';
import { textOf } from './kept.ts';
import type { ResultSeen } from './log-evidence.ts';
import type { AnyRemoval, JudgedNode } from './removals.ts';

/** Outcomes of an object that may have gone by this command. */
export const TRIED: ReadonlySet<string> = new Set(['removed', 'failed']);

/** Each command is answered or given up, and each removal is told. */
export function lost(
  { log, played }: Evidence,
  { name, removals, history }: JudgedNode,
): readonly Violation[] {
  const results = log.results.filter(({ node }) => node === name);
  const answered = new Set(
    results.filter(({ type }) => type === 'fleetgc.node.command-result').map(({ commandId }) => commandId),
  );
  const silent = log.commands
    .filter(({ node, id, place }) => node === name && !answered.has(id) && !log.givenUp.has(place))
    .filter(({ atMs }) => !wentWithTopic(atMs, played))
    .map(({ id, atMs }): Violation => {
      const text = `command ${id} of ${new Date(atMs).toISOString()} has no result and no dead letter`;
      return { invariant: 'lost', node: name, text };
    });
  const knowable = removals.filter((removal) => !isUnknowable(removal, history, played));
  const untold = knowable
    .filter((removal) => countOf(knowable, removal) > toldOf(results, removal))
    .map((removal): Violation => {
      const text = `${textOf(removal)} and no result tells of it`;
      return { invariant: 'lost', node: name, text };
    });
  return [...silent, ...untold];
}

/** What lay on a topic that was deleted went with it, and may not have been read before. */
const wentWithTopic = (atMs: number, played: Evidence['played']): boolean =>
  played.some(
    ({ fault, fromMs, toMs }) =>
      fault.kind === 'topic-anew' &&
      fault.topic === 'gc.node.commands' &&
      fromMs - UNREAD_MS <= atMs &&
      atMs <= toMs,
  );

const UNREAD_MS = 10_000;

/** An executor that ended while it waited for a removal, and finds the image again when it starts, cannot know that it was away. */
const isUnknowable = (
  { node, kind, id, goneMs, askedMs }: AnyRemoval,
  { images }: History,
  played: Evidence['played'],
): boolean =>
  kind === 'image' &&
  images.some((life) => life.id === id && life.fromMs > goneMs) &&
  wasKilled(played, node, askedMs - MOMENT_MS, goneMs + MOMENT_MS);

const MOMENT_MS = 1_000;

const countOf = (removals: readonly AnyRemoval[], { kind, id }: AnyRemoval): number =>
  removals.filter((other) => other.kind === kind && other.id === id).length;

const toldOf = (results: readonly ResultSeen[], { kind, id }: AnyRemoval): number =>
  results.filter(
    ({ object, result }) => object?.kind === kind && object.id === id && TRIED.has(result.outcome),
  ).length;

import { wasKilled } from './delays.ts';
import type { Evidence, Violation } from './evidence.ts';
import type { History } from './history.ts';
import type { JudgedNode } from './removals.ts';

/** No command removes an object twice, no image is asked for again that went, and none is told to have gone more often than it went. */
export const twice = (evidence: Evidence, node: JudgedNode): readonly Violation[] => [
  ...toldTwice(evidence, node),
  ...toldOtherwise(evidence, node),
  ...askedAgain(evidence, node),
];

/** Whoever was told that an image is gone does not ask for its removal again before it is back. */
function askedAgain({ played }: Evidence, { name, history, removals }: JudgedNode): readonly Violation[] {
  const { asked, answered, images } = history;
  return removals.flatMap((removal): Violation[] => {
    const own = asked.findLast(({ id, atMs }) => id === removal.id && atMs <= removal.goneMs);
    if (removal.kind !== 'image' || own === undefined || answered.get(own.call)?.ok !== true) return [];
    const backMs =
      images.find(({ id, fromMs }) => id === removal.id && fromMs > removal.goneMs)?.fromMs ?? Infinity;
    const again = asked.find(({ id, atMs }) => id === removal.id && atMs > removal.goneMs && atMs < backMs);
    if (!again || wasKilled(played, name, removal.goneMs - SECOND_MS, again.atMs)) return [];
    return [
      violation(
        name,
        `image ${removal.id} was asked for again, ${again.atMs - removal.goneMs} ms after it went`,
      ),
    ];
  });
}

const SECOND_MS = 1_000;

function toldTwice({ log }: Evidence, { name, history }: JudgedNode): readonly Violation[] {
  const told = log.results.filter(({ node, result }) => node === name && result.outcome === 'removed');
  const byObject = Map.groupBy(told, ({ object }) => `${object?.kind} ${object?.id}`);
  return [...byObject].flatMap(([object, results]): Violation[] => {
    const went = timesGone(history, object);
    if (went === null) return [];
    const commands = new Set(results.map(({ commandId }) => commandId)).size;
    if (commands < results.length) return [violation(name, `${object} has two results of one command`)];
    return results.length > went
      ? [violation(name, `${object} was told to be removed ${results.length} times and went ${went} times`)]
      : [];
  });
}

/** What one command came to is told once: who carries it out again comes to something else. */
const toldOtherwise = ({ log }: Evidence, { name }: JudgedNode): readonly Violation[] =>
  log.retold
    .filter(({ node }) => node === name)
    .map(({ commandId, object, result }) =>
      violation(
        name,
        `${object ? `${object.kind} ${object.id} of ` : ''}command ${commandId} was told of twice, then as ${result.outcome}`,
      ),
    );

/** By whosever hand; log files are no part of the truth. */
function timesGone({ images, containers, sandboxes }: History, object: string): number | null {
  const gone = (lives: readonly { readonly gone: object | null }[]): number =>
    lives.filter((life) => life.gone !== null).length;
  const [kind, id] = object.split(' ');
  if (kind === 'image') return gone(images.filter((life) => life.id === id));
  if (kind === 'container') return gone(containers.filter(({ line }) => line.id === id));
  return kind === 'sandbox' ? gone(sandboxes.filter((life) => life.id === id)) : null;
}

const violation = (node: string, text: string): Violation => ({ invariant: 'twice', node, text });

import type { Evidence, Violation } from './evidence.ts';
import type { History } from './history.ts';
import type { JudgedNode } from './removals.ts';

/** No command removes an object more than once, and none is told to have gone more often than it went. */
export function twice({ log }: Evidence, { name, history }: JudgedNode): readonly Violation[] {
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

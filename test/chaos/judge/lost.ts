import type { Evidence, Violation } from './evidence.ts';
import { textOf } from './kept.ts';
import type { ResultSeen } from './log-evidence.ts';
import type { AnyRemoval, JudgedNode } from './removals.ts';

/** Outcomes of an object that may have gone by this command. */
const TRIED: ReadonlySet<string> = new Set(['removed', 'not-found', 'failed']);

/** Each command is answered or given up, and each removal is told. */
export function lost({ log }: Evidence, { name, removals }: JudgedNode): readonly Violation[] {
  const results = log.results.filter(({ node }) => node === name);
  const answered = new Set(
    results.filter(({ type }) => type === 'fleetgc.node.command-result').map(({ commandId }) => commandId),
  );
  const silent = log.commands
    .filter(({ node, id, place }) => node === name && !answered.has(id) && !log.givenUp.has(place))
    .map(({ id, atMs }): Violation => {
      const text = `command ${id} of ${new Date(atMs).toISOString()} has no result and no dead letter`;
      return { invariant: 'lost', node: name, text };
    });
  const untold = removals
    .filter((removal) => countOf(removals, removal) > toldOf(results, removal))
    .map((removal): Violation => {
      const text = `${textOf(removal)} and no result tells of it`;
      return { invariant: 'lost', node: name, text };
    });
  return [...silent, ...untold];
}

const countOf = (removals: readonly AnyRemoval[], { kind, id }: AnyRemoval): number =>
  removals.filter((other) => other.kind === kind && other.id === id).length;

const toldOf = (results: readonly ResultSeen[], { kind, id }: AnyRemoval): number =>
  results.filter(
    ({ object, result }) => object?.kind === kind && object.id === id && TRIED.has(result.outcome),
  ).length;

import { lastCountedMs, type Told } from './belief.ts';
import { keyDelays, undelayedMs } from './delays.ts';
import type { Evidence, Violation } from './evidence.ts';
import { SLACK_MS, textOf } from './kept.ts';
import type { OrderSeen } from './log-evidence.ts';
import { TRIED } from './lost.ts';
import type { AnyRemoval, JudgedNode } from './removals.ts';

/** A node knows within this time that a key counts no more, in which nothing holds it up. */
export const BELIEF_MS = 6_000;

/** Nothing goes by a command that no key signed which counted then, and no such command is carried out. */
export function unsigned(evidence: Evidence, { name, removals }: JudgedNode): readonly Violation[] {
  const { keys, clocks, log, played } = evidence;
  const told = { acts: keys, clock: clocks[name] ?? [] };
  const delays = keyDelays(played, name);
  const orders = log.orders.filter(({ node }) => node === name);
  const isBelieved = (order: OrderSeen, atMs: number): boolean => {
    const lastMs = countedMs(told, order, atMs);
    return lastMs !== null && undelayedMs(delays, lastMs, atMs) <= BELIEF_MS;
  };
  const gone = removals.flatMap((removal): string[] => {
    const named = orders.filter((order) => names(order, removal));
    if (named.length === 0 && mayHaveGone(played)) return [];
    if (named.some((order) => isBelieved(order, removal.askedMs))) return [];
    const seen = named.map(({ id, signedBy }) => `${id} by ${signedBy ?? 'nobody'}`).join(', ') || 'none';
    return [`${textOf(removal)} by no command that a key signed which counted: ${seen}`];
  });
  const done = log.results
    .filter(({ node, result }) => node === name && TRIED.has(result.outcome))
    .flatMap(({ commandId, id, atMs }): string[] => {
      const said = orders.filter((order) => order.id === commandId);
      const counted = said.some((order) => countedMs(told, order, atMs) !== null);
      return said.length === 0 || counted
        ? []
        : [`result ${id} tells of command ${commandId}, which nobody signed`];
    });
  return [...gone, ...done].map((text) => ({ invariant: 'signed', node: name, text }));
}

const countedMs = (told: Told, { signedBy, atMs: fromMs }: OrderSeen, atMs: number): number | null =>
  signedBy === null
    ? null
    : lastCountedMs(told, { keyId: signedBy, role: 'decider', fromMs: fromMs - BELIEF_MS, atMs });

const names = ({ items, atMs }: OrderSeen, { kind, id, askedMs }: AnyRemoval): boolean =>
  atMs <= askedMs + SLACK_MS && items.some((item) => item.kind === kind && item.id === id);

/** A command may have gone with its topic before anybody but its node read it. */
const mayHaveGone = (played: Evidence['played']): boolean =>
  played.some(({ fault }) => fault.kind === 'topic-anew' && fault.topic === 'gc.node.commands');

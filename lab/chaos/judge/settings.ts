import type { Act, Setting } from '../fleet/operator.ts';
import { POLICIES, type PolicyFacts } from '../fleet/policies.ts';
import { type Delay, undelayedMs } from './delays.ts';

/** A node follows what an operator was told to be done within this time, in which nothing holds it up. */
const PROPAGATION_MS = 6_000;

/** What may have been in force on a node at that moment. Before the first act that is nothing, under which all is kept. */
export function possibleSettings<Policy extends string>(
  acts: readonly Act<Policy>[],
  delays: readonly Delay[],
  atMs: number,
): readonly Setting<Policy>[] {
  return acts
    .filter(({ startedMs }) => startedMs <= atMs)
    .filter((_, index, begun) => {
      const next = begun[index + 1];
      if (next === undefined || next.endedMs === null) return true;
      return undelayedMs(delays, next.endedMs, atMs) <= PROPAGATION_MS;
    })
    .map(({ setting }) => setting);
}

/** The policy of a setting, where it lets a node remove anything. */
export function enforcedOn(setting: Setting, node: string): PolicyFacts | null {
  if (setting.policy === null || setting.paused.includes('*') || setting.paused.includes(node)) return null;
  const facts = POLICIES[setting.policy];
  return facts.enforces ? facts : null;
}

import type { PolicyFacts } from '../fleet/policies.ts';
import { lookDelays, policyDelays, undelayedMs } from './delays.ts';
import type { Evidence, Violation } from './evidence.ts';
import { SLACK_MS, textOf } from './kept.ts';
import type { ImageRemoval, JudgedNode } from './removals.ts';
import { enforcedOn, possibleSettings } from './settings.ts';
import { LOOK_MS } from './used.ts';

/**
 * No image goes from a disk that is used to less than every policy wants that may have been in force, unless one of them has
 * it go by age. An image that was not there for so long was not unused for so long either.
 */
export function needless(
  { acts, played }: Evidence,
  { name, removals, history }: JudgedNode,
): readonly Violation[] {
  const delays = { policy: policyDelays(played, name), look: lookDelays(played, name) };
  /** As the executor may have measured it: what others freed since then it cannot know of. */
  const measured = ({ askedMs, goneMs, usedPercentBefore }: ImageRemoval): number =>
    history.freedByOthers
      .filter(({ atMs }) => atMs <= goneMs && undelayedMs(delays.look, atMs, askedMs) <= LOOK_MS)
      .reduce((sum, { percent }) => sum + percent, usedPercentBefore);
  return removals.flatMap((removal): Violation[] => {
    if (removal.kind !== 'image' || freesLate(played, name)) return [];
    const enforced = possibleSettings(acts, delays.policy, removal.askedMs)
      .map((setting) => enforcedOn(setting, name))
      .filter((facts) => facts !== null);
    const lows = enforced.map(({ lowPercent }) => lowPercent);
    if (
      lows.length === 0 ||
      enforced.some((facts) => mayGoByAge(removal, facts)) ||
      measured(removal) >= Math.min(...lows)
    )
      return [];
    const text = `${textOf(removal)} though the disk was used to ${removal.usedPercentBefore} % only`;
    return [{ invariant: 'needless', node: name, text }];
  });
}

function mayGoByAge({ life, askedMs }: ImageRemoval, { maximumUnusedMs }: PolicyFacts): boolean {
  return maximumUnusedMs !== null && askedMs - life.fromMs + SLACK_MS > maximumUnusedMs;
}

/** What frees its space late is measured before it did. */
const freesLate = (played: Evidence['played'], node: string): boolean =>
  played.some(({ fault }) => fault.kind === 'runtime' && fault.node === node && fault.trouble.how === 'late');

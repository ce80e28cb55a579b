import { lookDelays, policyDelays, undelayedMs } from './delays.ts';
import type { Evidence, Violation } from './evidence.ts';
import { textOf } from './kept.ts';
import type { ImageRemoval, JudgedNode } from './removals.ts';
import { enforcedOn, possibleSettings } from './settings.ts';
import { LOOK_MS } from './used.ts';

/** No image goes from a disk that is used to less than every policy wants that may have been in force. */
export function needless(
  { acts, played }: Evidence,
  { name, removals, history }: JudgedNode,
): readonly Violation[] {
  const delays = { policy: policyDelays(played, name), look: lookDelays(played, name) };
  /** As the executor may have measured it: what others freed since then it cannot know of. */
  const measured = ({ askedMs, usedPercentBefore }: ImageRemoval): number =>
    history.freedByOthers
      .filter(({ atMs }) => atMs <= askedMs && undelayedMs(delays.look, atMs, askedMs) <= LOOK_MS)
      .reduce((sum, { percent }) => sum + percent, usedPercentBefore);
  return removals.flatMap((removal): Violation[] => {
    if (removal.kind !== 'image' || freesLate(played, name)) return [];
    const lows = possibleSettings(acts, delays.policy, removal.askedMs)
      .map((setting) => enforcedOn(setting, name)?.lowPercent)
      .filter((low) => low !== undefined);
    if (lows.length === 0 || measured(removal) >= Math.min(...lows)) return [];
    const text = `${textOf(removal)} though the disk was used to ${removal.usedPercentBefore} % only`;
    return [{ invariant: 'needless', node: name, text }];
  });
}

/** What frees its space late is measured before it did. */
const freesLate = (played: Evidence['played'], node: string): boolean =>
  played.some(({ fault }) => fault.kind === 'runtime' && fault.node === node && fault.trouble.how === 'late');

import { policyDelays } from './delays.ts';
import type { Evidence, Violation } from './evidence.ts';
import { textOf } from './kept.ts';
import type { JudgedNode } from './removals.ts';
import { enforcedOn, possibleSettings } from './settings.ts';

/** No image goes from a disk that is used to less than every policy wants that may have been in force. */
export function needless({ acts, played }: Evidence, { name, removals }: JudgedNode): readonly Violation[] {
  const delays = policyDelays(played, name);
  return removals.flatMap((removal): Violation[] => {
    if (removal.kind !== 'image') return [];
    const lows = possibleSettings(acts, delays, removal.askedMs)
      .map((setting) => enforcedOn(setting, name)?.lowPercent)
      .filter((low) => low !== undefined);
    // What frees its space late was measured before it did.
    const latePercent = lateFreed(played, name) ? 100 : 0;
    if (lows.length === 0 || removal.usedPercentBefore + latePercent >= Math.min(...lows)) return [];
    const text = `${textOf(removal)} though the disk was used to ${removal.usedPercentBefore} % only`;
    return [{ invariant: 'needless', node: name, text }];
  });
}

const lateFreed = (played: Evidence['played'], node: string): boolean =>
  played.some(({ fault }) => fault.kind === 'runtime' && fault.node === node && fault.trouble.how === 'late');

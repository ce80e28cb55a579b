import type { Played } from '../schedule/played.ts';

/** The log cannot prove itself where somebody wrote to it. */
export const isLogForged = (played: readonly Played[]): boolean =>
  played.some(({ fault }) => FORGES.has(fault.kind));

const FORGES: ReadonlySet<string> = new Set(['forge', 'forge-at', 'topic-anew']);

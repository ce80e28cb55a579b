import type { Played } from '../schedule/played.ts';

/** The log cannot prove itself where somebody wrote to it. */
export const isLogForged = (played: readonly Played[]): boolean =>
  played.some(({ fault }) => fault.kind === 'forge' || fault.kind === 'topic-anew');

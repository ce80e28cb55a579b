import type { Command } from '../../../../schemas/events/command.ts';
import { isForced } from '../../../../schemas/events/reclaim.ts';
import type { PassProblem } from '../../../../schemas/events/result.ts';
import type { JournalState } from '../journal/journal-state.ts';
import type { AfterCommand } from './reclaim.ts';
import { count, type Ending } from './results.ts';

/** A command that was carried out, and what follows for its reclaim. */
export interface Pass {
  readonly command: Command;
  readonly ending: Ending;
  readonly next: AfterCommand | undefined;
}

/**
 * What went wrong in a pass as a whole, by the names of a kubelet's Warning events. That the target is missed is told beside
 * errors too (M18); a failed pass of images only if the one before it failed as well (D19), one of containers always (D20),
 * also for a failed removal, which a kubelet only logs (G1). Of images that an eviction signal forces nothing is told, as by
 * a kubelet (F3, J14): the results tell, and `pressure-unrelieved`.
 */
export function passProblems(
  pass: Pass,
  { imagePassFailed }: Pick<JournalState, 'imagePassFailed'>,
): PassProblem[] {
  switch (pass.command.kind) {
    case 'container-removal':
      return hasErrors(pass) ? ['container-gc-failed'] : [];
    case 'image-removal':
      return isOwnImagePass(pass) ? imagePassProblems(pass, imagePassFailed) : [];
  }
}

const imagePassProblems = (pass: Pass, failedBefore: boolean): PassProblem[] => [
  ...(missesTarget(pass) ? (['free-disk-space-failed'] as const) : []),
  ...(isFailed(pass) && failedBefore ? (['image-gc-failed'] as const) : []),
];

/** What is remembered for the next pass of images; forced ones and those of other objects leave it as it is. */
export const withPass = (state: JournalState, pass: Pass): JournalState =>
  isOwnImagePass(pass) ? { ...state, imagePassFailed: isFailed(pass) } : state;

/** One of image GC's own passes, by age or by usage: the kubelet's periodic ones. */
const isOwnImagePass = ({ command: { kind, reclaim } }: Pass): boolean =>
  kind === 'image-removal' && (reclaim === null || !isForced(reclaim));

const isFailed = (pass: Pass): boolean => hasErrors(pass) || missesTarget(pass);

const hasErrors = ({ ending }: Pass): boolean => count(ending.items, 'failed') > 0;

/** A round after which another follows has not missed it yet (D17). */
const missesTarget = ({ ending, next }: Pass): boolean =>
  ending.targetReached === false && next?.type === 'fleetgc.node.pressure-unrelieved';

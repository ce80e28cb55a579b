import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { OWN_RULES } from '../../../decision/own-rules.ts';
import { believeUsage } from '../../../decision/thresholds/filesystem-usage.ts';
import type { Candidate } from './candidates.ts';
import { nodeDoubts, watchDoubts } from './doubts.ts';
import { doubtfulPass, type ImagePass, type KeepingPass, keepingPass, type RemovingPass } from './pass.ts';

/** Removal by age (E): on any complete inventory that no images are asked of to make room, whatever the disk says. */
export function agePass(inventory: CompleteInventory, policy: Policy): ImagePass {
  const imagefs = believeUsage('imagefs', inventory.filesystems.imagefs);
  const onDisk = imagefs.kind === 'doubt' ? [imagefs.doubt] : [];
  const doubts = [...nodeDoubts(inventory, policy), ...watchDoubts(inventory, policy)];
  const isOff = policy.imageMaximumGCAgeMs === 0;
  const pass =
    doubtfulPass(isOff ? [...doubts, ...onDisk] : doubts, null) ??
    switchedOff(inventory, policy) ??
    startingUp(inventory, policy) ??
    removeUnused(inventory, policy);
  return { ...pass, notBelieved: [...doubts, ...onDisk], reclaim: null };
}

function switchedOff(
  { reclaim }: CompleteInventory,
  { imageMaximumGCAgeMs }: Policy,
): KeepingPass | undefined {
  if (imageMaximumGCAgeMs !== 0) return undefined;
  return keepingPass(
    'P6',
    `${OWN_RULES.P6}; ${reclaim === null ? 'none is under way' : 'this one has none'}`,
  );
}

/**
 * The kubelet waits the whole maximum age after its start (E2), since it has forgotten when images were used. FleetGC's
 * agent remembers (M2), and says since when it has looked without a break. An agent of another boot has not started at any
 * known time.
 */
function startingUp(
  { takenAt, agentStartedAt }: CompleteInventory,
  { profile, imageMaximumGCAgeMs }: Policy,
): KeepingPass | undefined {
  if (profile !== 'kubelet') return undefined;
  const sinceStartMs = takenAt.sinceBootMs - agentStartedAt.sinceBootMs;
  if (takenAt.bootId === agentStartedAt.bootId && sinceStartMs > imageMaximumGCAgeMs) return undefined;
  return keepingPass(
    'E2',
    `no image goes by age until the agent has run for more than ${imageMaximumGCAgeMs} ms`,
  );
}

function removeUnused(
  { takenAt, imagesWatchedSinceMs }: CompleteInventory,
  { profile, imageMaximumGCAgeMs }: Policy,
): RemovingPass {
  const unusedSinceMs =
    profile === 'kubelet' ? lastUsed : seenUnusedSince(imagesWatchedSinceMs ?? takenAt.wallTimeMs);
  const unusedMs = (candidate: Candidate) => {
    const sinceMs = unusedSinceMs(candidate);
    return sinceMs === null ? null : takenAt.wallTimeMs - sinceMs;
  };
  return {
    kind: 'remove',
    goal: { kind: 'unused', maximumAgeMs: imageMaximumGCAgeMs, unusedMs },
    lack: null,
    why: `images that were unused for more than ${imageMaximumGCAgeMs} ms go`,
  };
}

/** `null` is never: longer ago than any age, also for an image that was pulled a moment ago (E4). */
const lastUsed = ({ image }: Candidate): number | null => image.lastUsedMs;

/**
 * An image that no container ever had is as old as its record (M3). Any could have been in use while nobody looked: it counts
 * as unused from where it was watched on.
 */
const seenUnusedSince =
  (watchedSinceMs: number) =>
  ({ image: { firstDetectedMs, lastUsedMs } }: Candidate): number =>
    Math.max(firstDetectedMs, lastUsedMs ?? firstDetectedMs, watchedSinceMs);

import type { Violation } from '../../judge/evidence.ts';
import type { TrueObject } from '../truth.ts';
import type { ClusterEvidence } from './evidence.ts';
import { enforcedIn, isListed, isMarked } from './kept.ts';
import { NEVER } from './owned.ts';
import { clusterViolation } from './violation.ts';
import { holdOf, textOf, type World } from './world.ts';

/** All that should go is gone, and nothing waits for anybody. To be asked when the time is over, or sooner. */
export function clusterUnrelieved(
  { acts }: ClusterEvidence,
  world: World,
  nowMs: number,
): readonly Violation[] {
  const last = acts.at(-1);
  const facts = last ? enforcedIn(last.setting) : null;
  // For ten minutes after a restore nothing follows from what is not there.
  if (facts === null || world.restoredMs.length > 0) return [];
  const all = [...world.there.values()];
  const stays = (object: TrueObject): boolean =>
    NEVER.includes(object.kind) || isMarked(object) || isListed(object, facts);
  const left = all.filter((object) => {
    if (stays(object)) return false;
    // Nobody but the life can let go what waits.
    if (object.isDeleting) return false;
    if (object.endsAtMs !== null && object.endsAtMs <= nowMs) return true;
    return namesWhoIsGone(object, world);
  });
  const ended = all.filter(({ isEnded, isDeleting }) => isEnded && !isDeleting);
  const tooMany = Math.max(0, ended.length - facts.endedPods);
  return [
    ...left.map((object) => `${textOf(object)} should have gone, or let go: ${JSON.stringify(object)}`),
    ...(tooMany > ended.filter(stays).length ? [`${ended.length} pods have ended and are there`] : []),
  ].map((text) => clusterViolation('relief', text));
}

/** A reference to somebody elsewhere is never touched, whatever became of him, nor is one beside it. */
function namesWhoIsGone(object: TrueObject, world: World): boolean {
  const holds = object.references.map((reference) => holdOf(object, reference, world));
  const isOdd = object.references.some((reference) => {
    const owner = world.ever.get(reference.uid);
    return owner !== undefined && owner.namespace !== '' && owner.namespace !== object.namespace;
  });
  return !isOdd && holds.some((hold) => hold !== 'holds' && hold !== 'elsewhere');
}

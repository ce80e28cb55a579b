import type { Violation } from '../../judge/evidence.ts';
import type { TrueReference } from '../truth.ts';
import { wasBlind } from './delays.ts';
import type { ClusterEvidence } from './evidence.ts';
import { clusterViolation } from './violation.ts';
import { type Deed, type Hold, holdOf, textOf, type World } from './world.ts';

/** Kinds of which nothing goes by its owners, unless somebody approves it; nobody does in a round. */
export const NEVER: readonly string[] = ['Namespace', 'Node', 'PersistentVolume'];

/** Nothing of these kinds goes. */
export const never = ({ deeds }: World): readonly Violation[] =>
  deeds
    .filter(({ kind, before }) => kind === 'deleted' && NEVER.includes(before.kind))
    .map(({ before }) => clusterViolation('never', `${textOf(before)} went`));

/** Nothing goes that an owner holds, whose owner left it behind, or that never had one; but for what has had its time. */
export const owned = ({ played }: Pick<ClusterEvidence, 'played'>, { deeds }: World): readonly Violation[] =>
  deeds.flatMap((deed): Violation[] => {
    const why =
      deed.kind === 'deleted'
        ? wrongWith(deed, { played, atWorkMs: deeds[0]?.atMs ?? 0 })
        : (lostReference(deed) ?? lostFinalizer(deed));
    return why === null
      ? []
      : [clusterViolation('owned', `${textOf(deed.before)} was ${deed.kind} at ${timeOf(deed)}: ${why}`)];
  });

/** What is there as the object says holds it, and is not let go. */
function lostReference(deed: Deed): string | null {
  const { before, after } = deed;
  if (after === null) return null;
  const lost = before.references.filter(({ uid }) => !after.references.some((each) => each.uid === uid));
  const held = lost.filter((reference) => holdOf(before, reference, deed) === 'holds');
  return held.length === 0 ? null : `it lost ${held.map(({ name }) => name).join(', ')}, which is there`;
}

/** Those of the control plane's collector. */
const COLLECTORS: readonly string[] = ['orphan', 'foregroundDeletion'];

function lostFinalizer({ before, after }: Deed): string | null {
  const lost = before.finalizers.filter((each) => !(after?.finalizers ?? []).includes(each));
  const foreign = lost.filter((each) => !COLLECTORS.includes(each));
  return foreign.length === 0 ? null : `it lost the finalizers ${foreign.join(', ')}`;
}

/** Whether a pod is the one too many is asked of the policy. */
const hasHadItsTime = ({ before: { endsAtMs, isEnded }, atMs }: Deed): boolean =>
  isEnded || (endsAtMs !== null && endsAtMs <= atMs);

/** An executor alone sees whether an owner is where the object says, and not where else it is or how it went: that facts and orders tell. */
const mayBeMisled = (played: ClusterEvidence['played']): boolean =>
  played.some(({ fault }) => fault.kind === 'forge');

function wrongWith(deed: Deed, round: Round): string | null {
  if (hasHadItsTime(deed)) return null;
  const { before } = deed;
  if (before.references.length === 0) return 'it had no owner';
  const holding = before.references
    .map((reference) => ({ reference, hold: holdOf(before, reference, deed) }))
    .filter(({ reference, hold }) => HOLDS[hold](reference, deed, round));
  if (holding.length === 0) return null;
  return holding
    .map(({ reference, hold }) => `${reference.kind} ${reference.name} (${reference.uid}) ${hold}`)
    .join(', ');
}

interface Round extends Pick<ClusterEvidence, 'played'> {
  /** What went before that went before anybody looked. */
  readonly atWorkMs: number;
}
type Holds = (reference: TrueReference, deed: Deed, round: Round) => boolean;

/** Whether the product had to know that it keeps the object. */
const HOLDS: Readonly<Record<Hold, Holds>> = {
  holds: () => true,
  orphans: () => true,
  waits: () => false,
  gone: () => false,
  elsewhere: (_, __, { played }) => !mayBeMisled(played),
  // An agent that did not see the owner go cannot know how it went.
  'left-behind': ({ uid }, { orphaned, atMs }, { played, atWorkMs }) => {
    const sinceMs = orphaned.get(uid) ?? atMs;
    return sinceMs > atWorkMs && !mayBeMisled(played) && !wasBlind(played, sinceMs, atMs);
  },
};

const timeOf = ({ atMs }: Deed): string => new Date(atMs).toISOString();

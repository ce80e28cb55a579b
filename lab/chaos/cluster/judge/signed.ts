import { lastCountedMs, type Told } from '../../judge/belief.ts';
import { undelayedMs } from '../../judge/delays.ts';
import type { Violation } from '../../judge/evidence.ts';
import { SLACK_MS } from '../../judge/kept.ts';
import { BELIEF_MS } from '../../judge/signed.ts';
import { keyDelays } from './delays.ts';
import type { ClusterEvidence } from './evidence.ts';
import type { ClusterOrder } from './log-evidence.ts';
import { TRIED } from './told.ts';
import { clusterViolation } from './violation.ts';
import { type Deed, textOf, type World } from './world.ts';

/** Nothing is done by no command that a key signed which counted then, and no such command is carried out. */
export function clusterUnsigned(evidence: ClusterEvidence, { deeds }: World): readonly Violation[] {
  const { keys, clock, log, played } = evidence;
  const told = { acts: keys, clock };
  const delays = keyDelays(played);
  const isBelieved = (order: ClusterOrder, atMs: number): boolean => {
    const lastMs = countedMs(told, order, atMs);
    return lastMs !== null && undelayedMs(delays, lastMs, atMs) <= BELIEF_MS;
  };
  const done = deeds.flatMap((deed): string[] => {
    const named = log.orders.filter((order) => names(order, deed));
    if (named.length === 0 && mayHaveGone(played)) return [];
    if (named.some((order) => isBelieved(order, deed.atMs))) return [];
    const seen = named.map(({ id, signedBy }) => `${id} by ${signedBy ?? 'nobody'}`).join(', ') || 'none';
    return [`${textOf(deed.before)} was ${deed.kind} by no command that a key signed which counted: ${seen}`];
  });
  const told_ = log.told
    .filter(({ outcome }) => TRIED.has(outcome))
    .flatMap(({ commandId, uid, atMs }): string[] => {
      const said = log.orders.filter(({ id }) => id === commandId);
      return said.length === 0 || said.some((order) => countedMs(told, order, atMs) !== null)
        ? []
        : [`of ${uid} it is told that command ${commandId} was carried out, which nobody signed`];
    });
  return [...done, ...told_].map((text) => clusterViolation('signed', text));
}

const countedMs = (told: Told, { signedBy, atMs: fromMs }: ClusterOrder, atMs: number): number | null =>
  signedBy === null
    ? null
    : lastCountedMs(told, { keyId: signedBy, role: 'decider', fromMs: fromMs - BELIEF_MS, atMs });

const names = ({ uids, atMs }: ClusterOrder, deed: Deed): boolean =>
  atMs <= deed.atMs + SLACK_MS && uids.includes(deed.before.uid);

/** A command may have gone with its topic before anybody but its cluster read it. */
const mayHaveGone = (played: ClusterEvidence['played']): boolean =>
  played.some(({ fault }) => fault.kind === 'topic-anew' && fault.topic === 'gc.cluster.commands');

import { DEAD_PER_CONTAINER, type PolicyFacts } from '../fleet/policies.ts';
import { KEPT_NAMESPACE, REPOSITORIES } from '../node/life.ts';
import { policyDelays } from './delays.ts';
import type { Evidence, Violation } from './evidence.ts';
import type { AnyRemoval, ContainerRemoval, ImageRemoval, JudgedNode } from './removals.ts';
import { enforcedOn, possibleSettings } from './settings.ts';

/** Clocks of two processes on one machine are one; what is written a moment later is still the same moment. */
export const SLACK_MS = 50;

/** Nothing goes that each policy which may have been in force keeps. */
export function keptByPolicy(
  { acts, played }: Evidence,
  { name, removals, history }: JudgedNode,
): readonly Violation[] {
  const delays = policyDelays(played, name);
  return removals.flatMap((removal): Violation[] => {
    const settings = possibleSettings(acts, delays, removal.askedMs);
    const enforced = settings.map((setting) => enforcedOn(setting, name)).filter((facts) => facts !== null);
    const why =
      enforced.length === 0
        ? 'nothing may go under any setting that may have been in force'
        : reasonToKeep(
            removal,
            enforced,
            history.containers.map(({ line }) => line),
          );
    if (why === null) return [];
    const seen = `settings that may have been in force: ${JSON.stringify(settings)}`;
    return [{ invariant: 'policy', node: name, text: `${textOf(removal)}: ${why}; ${seen}` }];
  });
}

export const textOf = ({ kind, id, goneMs, askedMs }: AnyRemoval): string =>
  `${kind} ${id} went at ${new Date(goneMs).toISOString()} (asked ${goneMs - askedMs} ms before)`;

type Line = ContainerRemoval['life']['line'];

function reasonToKeep(
  removal: AnyRemoval,
  enforced: readonly PolicyFacts[],
  lines: readonly Line[],
): string | null {
  if (removal.kind === 'image') {
    const reasons = enforced.map((facts) => imageReason(removal, facts));
    return reasons.every((reason) => reason !== null) ? reasons.join(' | ') : null;
  }
  const namespace =
    removal.kind === 'sandbox' ? removal.life.namespace : (removal.life.line.pod?.namespace ?? '');
  if (namespace === KEPT_NAMESPACE) return `its namespace is ${KEPT_NAMESPACE}`;
  return removal.kind === 'container' ? newestReason(removal, lines) : null;
}

function imageReason({ life, askedMs }: ImageRemoval, facts: PolicyFacts): string | null {
  const isOf = (repository: string): boolean => life.names.some((name) => name.startsWith(`${repository}/`));
  if (life.pinned) return 'it is pinned';
  if (isOf(REPOSITORIES.always)) return `it is of ${REPOSITORIES.always}`;
  if (facts.keepsTeam && isOf(REPOSITORIES.team)) return `it is of ${REPOSITORIES.team}`;
  const ageMs = askedMs - life.fromMs;
  return ageMs + SLACK_MS < facts.minimumAgeMs ? `it was there for ${ageMs} ms only` : null;
}

/** Of a container that still has its pod the newest dead one stays: no pod is known to be gone in a round. */
function newestReason({ life, askedMs }: ContainerRemoval, lines: readonly Line[]): string | null {
  const { pod } = life.line;
  if (pod === null) return 'it is no container of a pod';
  const newer = lines.filter(
    (line) =>
      line.pod?.uid === pod.uid &&
      line.pod.name === pod.name &&
      line.atMs > life.line.atMs &&
      line.atMs < askedMs,
  );
  return newer.length < DEAD_PER_CONTAINER ? 'it is the newest of its pod' : null;
}

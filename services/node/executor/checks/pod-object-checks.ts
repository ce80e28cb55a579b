import type {
  CompleteListing,
  ListedContainer,
  ListedSandbox,
} from '../../../../packages/cri/listing-types.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { Refusal } from '../results/results.ts';

const NS_PER_MS = 1_000_000n;

const NOT_OURS: Refusal = {
  reason: 'not-ours',
  message: "it does not carry the kubelet's labels (or no longer), so somebody else made it",
};

/** Why a listed container may not go (G3, K2, K6, M32, M41). */
export const containerRefusal = (
  container: ListedContainer,
  command: Command,
  at: { readonly policy: Policy; readonly now: Instant },
): Refusal | undefined =>
  (isOurs(container.labels) && container.name !== '' ? undefined : NOT_OURS) ??
  running(container) ??
  createdLater(container, command.takenAt) ??
  tooYoung(container, command, at);

/** Why a listed sandbox may not go (H1, H3). */
export function sandboxRefusal(
  sandbox: ListedSandbox,
  command: Command,
  { containers }: CompleteListing,
): Refusal | undefined {
  if (!isOurs(sandbox.labels)) return NOT_OURS;
  if (sandbox.state === 'ready') return { reason: 'ready', message: 'the sandbox is ready' };
  const member = containers.find(({ sandboxId }) => sandboxId === sandbox.id);
  if (member) return { reason: 'has-containers', message: `container ${member.id} is still in it` };
  return createdLater(sandbox, command.takenAt);
}

/** Why the logs of a pod may not go: the runtime still runs it. */
export function activePod(
  podUid: string,
  { containers, sandboxes }: Pick<CompleteListing, 'containers' | 'sandboxes'>,
): Refusal | undefined {
  const container = containers.find(({ state, labels }) => state === 'running' && uidOf(labels) === podUid);
  if (container) return { reason: 'running', message: `container ${container.id} of the pod runs` };
  const sandbox = sandboxes.find(
    ({ state, podUid: uid, labels }) => state === 'ready' && (uid === podUid || uidOf(labels) === podUid),
  );
  return sandbox && { reason: 'ready', message: `sandbox ${sandbox.id} of the pod is ready` };
}

const uidOf = (labels: Readonly<Record<string, string>>): string => labels['io.kubernetes.pod.uid'] ?? '';

const isOurs = (labels: Readonly<Record<string, string>>): boolean => uidOf(labels) !== '';

const running = ({ state }: ListedContainer): Refusal | undefined =>
  state === 'running' ? { reason: 'running', message: 'the container runs' } : undefined;

function createdLater(
  { createdAtNs }: Pick<ListedContainer, 'createdAtNs'>,
  { wallTimeMs }: Instant,
): Refusal | undefined {
  if (createdAtNs <= BigInt(wallTimeMs) * NS_PER_MS) return undefined;
  return { reason: 'first-detected-later', message: 'it was created after the inventory was taken' };
}

/** A container that was created and never started may be about to start. */
function tooYoung(
  { state, createdAtNs }: ListedContainer,
  { takenAt }: Command,
  { policy, now }: { readonly policy: Policy; readonly now: Instant },
): Refusal | undefined {
  // The kubelet has no such age.
  if (state !== 'created' || policy.profile === 'kubelet') return undefined;
  const { minimumCreatedContainerAgeMs } = policy;
  const ageMs = agedUntilMs(takenAt, now) - Number(createdAtNs / NS_PER_MS);
  if (ageMs >= minimumCreatedContainerAgeMs) return undefined;
  const message = `created ${ageMs} ms ago and not started; the policy waits ${minimumCreatedContainerAgeMs} ms`;
  return { reason: 'too-young', message };
}

/** Now, by the wall clock of the inventory: a clock that was set since makes nothing older. */
const agedUntilMs = (takenAt: Instant, now: Instant): number =>
  Math.min(now.wallTimeMs, takenAt.wallTimeMs + now.sinceBootMs - takenAt.sinceBootMs);

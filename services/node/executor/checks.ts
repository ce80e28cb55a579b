import type { KubeletPod } from '../../../packages/cri/kubelet/pod-source.ts';
import type {
  CompleteListing,
  ListedContainer,
  ListedImage,
  ListedSandbox,
} from '../../../packages/cri/listing-types.ts';
import type { ImageUsage } from '../../../packages/cri/usage.ts';
import { pluralOf } from '../../../packages/decision/inventory-entries.ts';
import { OWN_RULES } from '../../../packages/decision/own-rules.ts';
import { withinSteps } from '../../../packages/decision/step-budget.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { ageRefusal, otherPolicy, pausedRefusal, selectInForce } from '../../../packages/records/commands.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { CommandRefusal } from '../../../schemas/events/result.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import {
  hasUnreadableNames,
  type KeepRules,
  keepMatcher,
  type NamedKeep,
  unpullableBecause,
} from '../../../schemas/policy/image-pattern.ts';
import type { PauseRecord, Policy, PolicyRecord, PolicySet } from '../../../schemas/policy/policy.ts';
import type { SelectableNode } from '../../../schemas/policy/policy-selection.ts';
import type { ImageHistoryFile } from '../../../schemas/state/image-history.ts';
import type { BackoffEntry } from './backoff.ts';
import type { LastActions } from './journal.ts';
import type { LocalRules, RemovalRate } from './local-rules.ts';
import type { Refusal } from './reports.ts';

/** One object that a command names. */
export type CommandItem = Command['items'][number];
export type ItemOf<Kind extends ObjectKind> = Extract<CommandItem, { kind: Kind }>;
type PodLogItem = ItemOf<'pod-log-directory' | 'log-symlink'>;

/** Whether it is an entry of a log directory, of which the runtime knows nothing. */
export function isPodLogEntry(item: CommandItem): item is PodLogItem {
  switch (item.kind) {
    case 'pod-log-directory':
    case 'log-symlink':
      return true;
    case 'container':
    case 'sandbox':
    case 'image':
      return false;
  }
}

/** A listed object that may go. */
export type Removable =
  | { readonly kind: 'image'; readonly image: ListedImage }
  | { readonly kind: 'container'; readonly container: ListedContainer }
  | { readonly kind: 'sandbox'; readonly sandbox: ListedSandbox }
  | PodLogDirectory
  | { readonly kind: 'log-symlink'; readonly name: string };

interface PodLogDirectory {
  readonly kind: 'pod-log-directory';
  readonly name: string;
  readonly podUid: string;
}

/** As people search for it in a log; nobody knows an id. */
export function nameOf(object: Removable): string {
  switch (object.kind) {
    case 'image': {
      const { repoTags, repoDigests, id } = object.image;
      return repoTags[0] ?? repoDigests[0] ?? id;
    }
    case 'container': {
      const { labels, name, attempt } = object.container;
      return `${podOf(labels)}/${name}#${attempt}`;
    }
    case 'sandbox': {
      const { podNamespace, podName, attempt } = object.sandbox;
      return `${podNamespace}/${podName}#${attempt}`;
    }
    case 'pod-log-directory':
    case 'log-symlink':
      return object.name;
  }
}

const podOf = (labels: ListedContainer['labels']): string =>
  `${labels['io.kubernetes.pod.namespace'] ?? ''}/${labels['io.kubernetes.pod.name'] ?? ''}`;

/** What may forbid a removal whatever the runtime says. */
export interface Restrictions {
  readonly policy: PolicyInForce;
  /** Whether the key that signed the command still counts; why not, in a sentence. */
  readonly distrustOf: (commandId: string) => string | null;
  readonly local: LocalRules;
  readonly backoff: readonly BackoffEntry[];
  readonly lastActions: LastActions;
  readonly removalRate: RemovalRate;
}

/** Where a policy ceased to be in force between two looks at it. */
export const NO_POLICY: Refusal<CommandRefusal> = {
  reason: 'policy-not-in-force',
  message: 'no policy is in force here',
};

type CommandRefused = Refusal<CommandRefusal> | undefined;

/** Why nothing of the command may be done now. */
export const commandRefusal = (command: Command, restrictions: Restrictions, now: Instant): CommandRefused =>
  timeRefusal(command, now) ??
  overtakenWhole(command, restrictions.lastActions) ??
  holding(restrictions) ??
  signerRefusal(command, restrictions) ??
  policyRefusal(command, restrictions.policy);

/** Why nothing at all is removed on this node now. */
export const holding = ({ policy, local }: Restrictions): CommandRefused =>
  pauseRefusal(policy) ?? holdRefusal(local);

/** Times are compared within one boot and by the time since it, which nobody can set. */
export function timeRefusal(
  { takenAt, lifetimeMs }: Pick<Command, 'takenAt' | 'lifetimeMs'>,
  now: Instant,
): CommandRefused {
  if (takenAt.bootId !== now.bootId) {
    return { reason: 'other-boot', message: 'the node was booted since the inventory was taken' };
  }
  const ageMs = now.sinceBootMs - takenAt.sinceBootMs;
  return ageRefusal(ageMs, { lifetimeMs, of: 'inventory' }) ?? undefined;
}

/** An action of another command on the same kind of object, not certainly before the inventory. */
export function overtaken(
  command: Pick<Command, 'id' | 'takenAt'>,
  kind: ObjectKind,
  lastActions: LastActions,
): CommandRefused {
  const last = lastActions[kind];
  if (last === null || last.commandId === command.id || last.at.bootId !== command.takenAt.bootId) {
    return undefined;
  }
  if (last.at.sinceBootMs < command.takenAt.sinceBootMs) return undefined;
  const message = `the node acted on ${pluralOf(kind)} after the inventory was taken (${last.commandId || 'journal lost'})`;
  return { reason: 'superseded', message };
}

function overtakenWhole(command: Command, lastActions: LastActions): CommandRefused {
  const kinds = new Set<ObjectKind>(command.items.map(({ kind }) => kind));
  const refusals = [...kinds].map((kind) => overtaken(command, kind, lastActions));
  return refusals.every((refusal) => refusal !== undefined) ? refusals[0] : undefined;
}

function pauseRefusal(policy: PolicyInForce): CommandRefused {
  switch (policy.kind) {
    case 'enforced':
    case 'not-enforced':
      return undefined;
    case 'paused':
      return pausedRefusal(policy.pause.reason);
    case 'unreadable':
      return {
        reason: 'held',
        message: `whether the node is paused cannot be read, so nothing is removed: ${policy.message}`,
      };
  }
}

/** What was decided under another policy than the one in force here is decided once more under this one. */
function policyRefusal({ policy: named }: Command, policy: PolicyInForce): CommandRefused {
  if (policy.kind === 'not-enforced') return { reason: 'policy-not-in-force', message: policy.message };
  return policy.kind === 'enforced' ? (otherPolicy(named, policy.record) ?? undefined) : undefined;
}

/** A key may have been taken back since its command came. */
function signerRefusal({ id }: Command, { distrustOf }: Restrictions): CommandRefused {
  const message = distrustOf(id);
  return message === null ? undefined : { reason: 'not-trusted', message };
}

function holdRefusal(local: LocalRules): CommandRefused {
  if (local.kind === 'held') return { reason: 'held', message: local.message };
  return local.hold ? { reason: 'held', message: "the node's own file says hold: true" } : undefined;
}

/** What the policies that this process follows itself say of this node. */
export type PolicyInForce =
  | { readonly kind: 'enforced'; readonly record: PolicyRecord }
  | { readonly kind: 'paused'; readonly pause: Pick<PauseRecord, 'reason'> }
  /** No policy selects it, or the one that does says `dry-run`. */
  | { readonly kind: 'not-enforced'; readonly message: string }
  /** They cannot be read: a pause, or another policy, could be among them. */
  | { readonly kind: 'unreadable'; readonly message: string };

/** `current` throws `POLICIES_UNREADABLE` while nobody can tell. */
export function policyInForce(current: () => PolicySet, node: SelectableNode): PolicyInForce {
  const inForce = selectInForce(current, node);
  switch (inForce.kind) {
    case 'unreadable':
      return inForce;
    case 'paused':
      return { kind: 'paused', pause: { reason: inForce.reason } };
    case 'none':
      return { kind: 'not-enforced', message: 'no policy selects this node now' };
    case 'policy': {
      const { record } = inForce;
      const { name, mode } = record.policy;
      if (mode === 'enforce') return { kind: 'enforced', record };
      return { kind: 'not-enforced', message: `policy ${name} says ${mode} for this node now` };
    }
  }
}

/** What the agent remembers of the images; `null` when it kept nothing so far. */
export type KnownHistory =
  | { readonly kind: 'known'; readonly file: ImageHistoryFile | null }
  | { readonly kind: 'unreadable'; readonly message: string };

interface ImageFacts {
  readonly usage: ImageUsage;
  readonly history: KnownHistory;
  readonly local: LocalRules;
  /** Of the policy in force here. */
  readonly keep: NamedKeep;
}

/** Why a listed image may not go, looked at just before its removal (K2, M5). */
export const imageRefusal = (
  image: ListedImage,
  command: Command,
  { usage, history, local, keep }: ImageFacts,
): Refusal | undefined =>
  unknownUsers(usage) ??
  inUse(image, usage) ??
  pinned(image) ??
  keptByPolicy(image, keep) ??
  keptByNode(image, local) ??
  sinceInventory(image, command, history);

function unknownUsers(usage: ImageUsage): Refusal | undefined {
  const { containersWithoutImage, sandboxImageKnown, podImagesKnown } = usage;
  const [container] = containersWithoutImage;
  if (container !== undefined) {
    const message = `container ${container} names no usable image, so any image may be its own`;
    return { reason: 'container-image-unknown', message };
  }
  if (!sandboxImageKnown)
    return { reason: 'sandbox-image-unknown', message: 'it is not known which image new sandboxes need' };
  if (podImagesKnown) return undefined;
  return { reason: 'pod-images-unknown', message: 'it is not known which images pods want' };
}

function inUse({ id }: ListedImage, { users }: ImageUsage): Refusal | undefined {
  const [user] = users.get(id) ?? [];
  return user && { reason: 'in-use', message: `${user.kind} ${user.id} uses the image by now` };
}

const pinned = ({ pinned: isPinned }: ListedImage): Refusal | undefined =>
  isPinned ? { reason: 'pinned', message: 'the runtime has the image pinned' } : undefined;

function keptByPolicy(image: ListedImage, keep: NamedKeep): Refusal | undefined {
  const unpullable = keep.unpullable ? unpullableBecause(image) : undefined;
  if (unpullable !== undefined) {
    const message = `nobody could pull the image again: ${unpullable}`;
    return { reason: 'kept-by-policy', message };
  }
  const entry = keptBy(image, keep);
  return entry === undefined ? undefined : { reason: 'kept-by-policy', message: `the policy keeps ${entry}` };
}

function keptByNode(image: ListedImage, local: LocalRules): Refusal | undefined {
  if (local.kind === 'held') return { reason: 'held', message: local.message };
  const entry = keptBy(image, { patterns: local.keepPatterns, digests: [], labels: {} });
  return entry === undefined
    ? undefined
    : { reason: 'kept-by-node', message: `the node's own file keeps ${entry}` };
}

/** What cannot be told in the steps of a decision keeps the image (P9, P10). */
function keptBy(image: ListedImage, keep: KeepRules): string | undefined {
  if (hasUnreadableNames(image)) return OWN_RULES.P9;
  return withinSteps(
    (steps) => keepMatcher(keep, steps).keptBy(image),
    () => OWN_RULES.P10,
  );
}

/**
 * An image that went and came back is another one, and one that was used meanwhile is not unused. What the agent has not
 * kept of this image in this boot nobody can tell: such an image stays until it has.
 */
function sinceInventory(
  image: ListedImage,
  { takenAt }: Command,
  history: KnownHistory,
): Refusal | undefined {
  if (history.kind === 'unreadable')
    return later(`the agent's image history cannot be read: ${history.message}`);
  const { file } = history;
  if (file === null) return later('the agent has kept no image history so far');
  if (file.at.bootId !== takenAt.bootId) return later("the agent's image history is of another boot");
  const record = file.images.find(([key]) => key === keyOf(image));
  if (!record) return later('the image is not in what the agent kept: it came later, or went and came back');
  const [, firstDetectedMs, lastUsedMs] = record;
  if (firstDetectedMs > takenAt.sinceBootMs) return later('the image was first detected after the inventory');
  return lastUsedMs !== null && lastUsedMs > takenAt.sinceBootMs
    ? { reason: 'in-use', message: 'the image was in use after the inventory was taken' }
    : undefined;
}

const keyOf = ({ id, runtimeHandler }: ListedImage): string =>
  runtimeHandler === '' ? id : `${id},${runtimeHandler}`;

const later = (message: string): Refusal => ({ reason: 'first-detected-later', message });

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
  { createdAtNs }: ListedContainer | ListedSandbox,
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

/** Rejects with `PODS_UNREADABLE` while it cannot be told which pods there are. */
export type PodsNow = () => Promise<readonly Pick<KubeletPod, 'uid'>[]>;

/**
 * So old the kubelet's answer may grow while the runtime is read.
 * @limit Age of the kubelet response at a removal.
 */
export const MAX_PODS_AGE_MS = 5_000;

/** The pods that the kubelet knew at `answeredAt`. */
interface PodsAnswer {
  readonly uids: ReadonlySet<string>;
  readonly answeredAt: Instant;
}

/** `null`: the object goes whatever its pod does, and nobody was asked. */
type PodsAsked = PodsAnswer | { readonly problem: string } | null;

/**
 * Asks for the pods where an object goes only because its pod was gone (G6, G23, H2, I3). Never rejects. Asked before the
 * runtime is, so that a kubelet that takes its time makes no fact about the runtime old.
 */
export async function askForPods(
  item: CommandItem,
  podsNow: PodsNow | null,
  now: () => Instant,
): Promise<PodsAsked> {
  if (!restsOnGonePod(item)) return null;
  if (podsNow === null) return { problem: 'this executor has no --kubelet-url to ask by' };
  try {
    const pods = await podsNow();
    return { uids: new Set(pods.map(({ uid }) => uid)), answeredAt: now() };
  } catch (error) {
    return { problem: toFleetGcError(error).message };
  }
}

/**
 * Why an object stays that goes only because its pod was gone: the pod is there again, as a static pod is that returns
 * with the same UID, or nobody can tell. A pod that returned after the kubelet was asked shows in the runtime.
 */
export function podReturnRefusal(
  object: Removable,
  asked: PodsAsked,
  listing: CompleteListing,
  now: Instant,
): Refusal | undefined {
  if (asked === null) return undefined;
  if ('problem' in asked) return unknown(asked.problem);
  const uids = podUidsOf(object);
  const back = uids.find((uid) => asked.uids.has(uid));
  if (back !== undefined)
    return { reason: 'pod-is-back', message: `the kubelet knows the pod ${back} again` };
  return (
    uids.map((uid) => activePod(uid, listing)).find((active) => active !== undefined) ?? tooOld(asked, now)
  );
}

function tooOld({ answeredAt }: PodsAnswer, now: Instant): Refusal | undefined {
  const ageMs = now.sinceBootMs - answeredAt.sinceBootMs;
  if (ageMs <= MAX_PODS_AGE_MS) return undefined;
  return unknown(`the kubelet said so ${ageMs} ms ago; the runtime took too long to read since`);
}

const restsOnGonePod = (item: CommandItem): boolean => 'podGone' in item && item.podGone;

const unknown = (problem: string): Refusal => ({
  reason: 'pods-unknown',
  message: `whether its pod is still gone cannot be told: ${problem}`,
});

function podUidsOf(object: Removable): readonly string[] {
  switch (object.kind) {
    case 'image':
    case 'log-symlink':
      return [];
    case 'pod-log-directory':
      return [object.podUid];
    case 'container':
      return uidIn(object.container.labels);
    case 'sandbox':
      return [...uidIn(object.sandbox.labels), object.sandbox.podUid];
  }
}

const uidIn = ({ 'io.kubernetes.pod.uid': uid }: Readonly<Record<string, string>>): readonly string[] =>
  uid === undefined ? [] : [uid];

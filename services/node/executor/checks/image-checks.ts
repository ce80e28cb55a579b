import type { ListedImage } from '../../../../packages/cri/listing-types.ts';
import type { ImageUsage } from '../../../../packages/cri/usage.ts';
import { OWN_RULES } from '../../../../packages/decision/own-rules.ts';
import { withinSteps } from '../../../../packages/decision/step-budget.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import {
  hasUnreadableNames,
  type KeepRules,
  keepMatcher,
  type NamedKeep,
  unpullableBecause,
} from '../../../../schemas/policy/image-pattern.ts';
import type { ImageHistoryFile } from '../../../../schemas/state/image-history.ts';
import type { LocalRules } from '../local/local-file.ts';
import type { Refusal } from '../results/results.ts';

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

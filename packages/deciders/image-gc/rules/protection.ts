import type { Holder } from '../../../../schemas/events/command.ts';
import type {
  CompleteInventory,
  ImageUser,
  InventoryContainer,
  InventoryImage,
} from '../../../../schemas/events/inventory.ts';
import { compareText } from '../../../../schemas/events/text-order.ts';
import {
  hasUnreadableNames,
  type KeepMatcher,
  type KeepRules,
  tagsByRepository,
  unpullableBecause,
} from '../../../../schemas/policy/image-pattern.ts';
import type { Policy, PolicyKeep } from '../../../../schemas/policy/policy.ts';
import { MAX_DECISION_STEPS, Steps } from '../../../../schemas/policy/steps.ts';
import type { Facts, Kept, Note } from '../../../decision/conclusion.ts';
import {
  backingOff,
  endOf,
  importsLikePulls,
  isAmong,
  tooLongForCommand,
} from '../../../decision/inventory-checks.ts';
import type { KeptRule } from '../../../decision/rule-text.ts';

/** Why one image may not go, however full the disk is. */
export interface Protection extends Kept {
  readonly holder: Holder['reason'];
}

type Protect = (image: InventoryImage) => Protection | undefined;

/** What images are looked through for. */
export interface Purpose {
  /** By age (E) or to make room (D, F). */
  readonly step: 'age' | 'space';
  /** A command holds none that failed lately (M33); a plan of what the kubelet would do tries it again. */
  readonly isForCommand: boolean;
  readonly steps: Steps;
}

interface Matching extends Purpose {
  readonly matcher: KeepMatcher;
}

/**
 * Compiles what protects the images of one inventory, of which some ids may be listed twice; the first that applies is the
 * reason that the record names. The kubelet asks neither for pods that are starting and sandboxes nor, by age, for the
 * minimum age.
 */
export function protections(
  inventory: CompleteInventory,
  policy: Policy,
  { step, isForCommand, matcher, steps }: Matching,
  listedTwice: ReadonlySet<string>,
): Protect {
  const takenAtMs = inventory.takenAt.wallTimeMs;
  const isKubelet = policy.profile === 'kubelet';
  const asksAge = !isKubelet || step === 'space';
  const used = inUse(inventory, policy);
  const doubtful = unbelieved(listedTwice, takenAtMs);
  const kept = keptByPolicy(inventory, policy, { doubtful, matcher, steps });
  const usedLater = asksAge ? usedSince(takenAtMs) : NEVER;
  const young = asksAge ? tooYoung(takenAtMs, policy.imageMinimumGCAgeMs) : NEVER;
  const tried = isKubelet && !isForCommand ? NEVER : triedLately(takenAtMs);
  const unnamable = isForCommand ? idTooLong : NEVER;
  // Spelt out, and no loop over a list of rules: that cannot be compiled into one piece, and takes twice as long.
  return (image) =>
    used(image) ??
    pinned(image) ??
    kept(image) ??
    doubtful(image) ??
    usedLater(image) ??
    young(image) ??
    tried(image) ??
    unnamable(image);
}

const NEVER: Protect = () => undefined;

const protection = (holder: Holder['reason'], rule: KeptRule, facts: Facts): Protection => ({
  holder,
  rule,
  facts,
});

/** What each kind of user stands on: containers C8, pods that still want the image M5, sandboxes and their image M9, and the rest C10. */
const RULE_OF_USER: Readonly<Record<ImageUser['kind'], KeptRule>> = {
  container: 'C8',
  pod: 'M5',
  sandbox: 'M9',
  'sandbox-image': 'M9',
  lease: 'C10',
  snapshot: 'C10',
  ingest: 'C10',
};

function inUse(inventory: CompleteInventory, policy: Policy): Protect {
  const { usersOf, isNotOurs } = usersIn(inventory, policy.profile);
  return (image) => {
    const users = usersOf(image);
    if (users.length === 0) return undefined;
    const user = users.find((candidate) => !isNotOurs(candidate)) ?? users[0];
    if (!user) return undefined;
    const facts = { users: users.length, user: `${user.kind} ${user.id}` };
    return isNotOurs(user)
      ? protection('not-ours', 'M41', facts)
      : protection('in-use', RULE_OF_USER[user.kind], facts);
  };
}

const pinned: Protect = (image) => (image.pinned ? protection('pinned', 'D7', { pinned: true }) : undefined);

/** What the policy's keep list says (M11). */
interface KeepingBy {
  readonly doubtful: Protect;
  readonly matcher: KeepMatcher;
  readonly steps: Steps;
}

function keptByPolicy(
  inventory: CompleteInventory,
  { keep }: Policy,
  { doubtful, matcher, steps }: KeepingBy,
): Protect {
  const { namespaces, lastVersions } = keep;
  const named = isEmpty(keep) ? NEVER : byList('keptBy', matcher.keptBy);
  const ofNamespace =
    namespaces.length === 0 ? NEVER : byList('keptNamespace', keptNamespaceOf(inventory, namespaces));
  const ofVersion = lastVersions === 0 ? NEVER : keptVersion(inventory, lastVersions, { doubtful, steps });
  const lost = keep.unpullable ? unpullable(inventory) : NEVER;
  return (image) =>
    unreadable(image) ?? named(image) ?? ofNamespace(image) ?? ofVersion(image) ?? lost(image);
}

const isEmpty = ({ patterns, digests, labels }: KeepRules): boolean =>
  patterns.length + digests.length + Object.keys(labels).length === 0;

function keptVersion(
  { images }: CompleteInventory,
  lastVersions: number,
  { doubtful, steps }: Pick<KeepingBy, 'doubtful' | 'steps'>,
): Protect {
  const believed = images.filter((image) => (doubtful(image) ?? unreadable(image)) === undefined);
  const versions = keptVersions(believed, lastVersions, steps);
  return byList('keptVersionOf', ({ id }) => versions.get(id));
}

const byList =
  (fact: string, entryOf: (image: InventoryImage) => string | undefined): Protect =>
  (image) => {
    const entry = entryOf(image);
    return entry === undefined ? undefined : protection('kept-by-list', 'M11', { [fact]: entry });
  };

/** Names that no registry takes are not read (P9). */
const unreadable: Protect = (image) => {
  if (!hasUnreadableNames(image)) return undefined;
  const names = image.repoTags.length + image.repoDigests.length;
  return protection('not-believed', 'P9', { names });
};

/** Nobody knows where to pull it from again (M11), or that it ever was (M12). */
function unpullable({ runtime }: CompleteInventory): Protect {
  // Also of an inventory whose agent took what an import imitates for a pull.
  const runtimeVersion = importsLikePulls(runtime.version) ? runtime.version : null;
  return (image) => {
    const { repoDigests, origin } = image;
    const unpullableAs = unpullableBecause(image);
    if (unpullableAs !== undefined) {
      const facts = { unpullable: unpullableAs, repoDigests: repoDigests.length };
      return protection('no-digest', 'M11', facts);
    }
    if (runtimeVersion !== null && origin !== 'not-pulled')
      return protection('no-digest', 'M12', { origin: 'unknown', runtimeVersion });
    return origin === undefined ? undefined : protection('no-digest', 'M12', { origin });
  };
}

function unbelieved(listedTwice: ReadonlySet<string>, takenAtMs: number): Protect {
  return ({ id, firstDetectedMs }) => {
    if (isAmong(listedTwice, id)) return protection('not-believed', 'C5', { listedTwice: true });
    return firstDetectedMs > takenAtMs
      ? protection('not-believed', 'M2', { firstDetectedMs, takenAtMs })
      : undefined;
  };
}

const usedSince =
  (takenAtMs: number): Protect =>
  ({ lastUsedMs }) =>
    lastUsedMs !== null && lastUsedMs >= takenAtMs
      ? protection('too-young', 'D9', { lastUsedMs, takenAtMs })
      : undefined;

const tooYoung =
  (takenAtMs: number, minimumAgeMs: number): Protect =>
  ({ firstDetectedMs }) => {
    const ageMs = takenAtMs - firstDetectedMs;
    return ageMs < minimumAgeMs ? protection('too-young', 'D10', { ageMs, minimumAgeMs }) : undefined;
  };

const triedLately =
  (takenAtMs: number): Protect =>
  ({ backoff }) => {
    const kept = backingOff(backoff, takenAtMs);
    return kept && { ...kept, holder: 'backing-off' };
  };

const idTooLong: Protect = ({ id }) => {
  const kept = tooLongForCommand(id);
  return kept && { ...kept, holder: 'not-believed' };
};

interface Users {
  /** Who makes an image one in use. */
  readonly usersOf: (image: InventoryImage) => readonly ImageUser[];
  /** A container or sandbox that the kubelet did not create (M41). */
  readonly isNotOurs: (user: ImageUser) => boolean;
}

/**
 * Who uses the images of one inventory: containers in any state (C8), and in our own profile also pods that are still to
 * start and sandboxes (C10). To the kubelet a container is a container, whoever created it.
 */
const usersIn = (inventory: CompleteInventory, profile: Policy['profile']): Users =>
  profile === 'kubelet' ? asTheKubelet(inventory) : asWe(inventory);

const asTheKubelet = (inventory: CompleteInventory): Users => {
  const named = namedBy(inventory);
  return {
    usersOf: (image) => {
      const users = image.usedBy.filter(({ kind }) => kind === 'container');
      return users.length > 0 ? users : named(image);
    },
    isNotOurs: () => false,
  };
};

function asWe(inventory: CompleteInventory): Users {
  const { containers, sandboxes } = inventory;
  const notOurs = new Set(
    [...containers.filter(isOfNoPod), ...sandboxes.filter(isOfNoPod)].map(({ id }) => id),
  );
  const named = namedBy(inventory);
  return {
    usersOf: (image) => (image.usedBy.length > 0 ? image.usedBy : named(image)),
    isNotOurs: ({ kind, id }) =>
      notOurs.size > 0 && (kind === 'container' || kind === 'sandbox') && notOurs.has(id),
  };
}

const isOfNoPod = ({ pod }: Pick<InventoryContainer, 'pod'>): boolean => pod === null;

const NOBODY: readonly ImageUser[] = [];

/**
 * An agent lists users with the image; a container that names the image's id is one in any case (C8). Hardly ever is there one
 * that was not listed, so nearly all images are told by the ends of the names alone.
 */
function namedBy({ containers }: CompleteInventory): (image: InventoryImage) => readonly ImageUser[] {
  let users: ReadonlyMap<string, string> | undefined;
  const ends = new Set(containers.map(({ imageId }) => endOf(imageId)));
  return ({ id }) => {
    if (!ends.has(endOf(id))) return NOBODY;
    users ??= new Map(containers.map((container) => [container.imageId, container.id]));
    const user = users.get(id);
    return user === undefined ? NOBODY : [{ kind: 'container', id: user }];
  };
}

/** A tag, and its parts: numbers, and what stands between them. */
interface Tag {
  readonly text: string;
  readonly parts: readonly string[];
}

/** One image as a version of one repository. */
interface Version {
  readonly image: InventoryImage;
  /** The highest of its tags there; empty when it has none. */
  readonly tag: Tag;
}

/**
 * The newest `count` images of each repository, by image id, with the repository that keeps them: first detected last,
 * then the higher tag. Images that neither tells apart are kept together. What is not believed takes no place (M11).
 */
export function keptVersions(
  images: readonly InventoryImage[],
  count: number,
  steps = new Steps(MAX_DECISION_STEPS),
): Map<string, string> {
  const kept = new Map<string, string>();
  if (count === 0) return kept;
  for (const [repository, versions] of versionsByRepository(images, steps)) {
    steps.take(sortSteps(versions.map(({ tag }) => tag)));
    const newestFirst = versions.toSorted(compareVersions);
    const last = newestFirst[Math.min(count, newestFirst.length) - 1];
    for (const version of newestFirst) {
      if (last && compareVersions(version, last) <= 0) kept.set(version.image.id, repository);
    }
  }
  return kept;
}

function versionsByRepository(images: readonly InventoryImage[], steps: Steps): Map<string, Version[]> {
  const repositories = new Map<string, Version[]>();
  for (const image of images) {
    for (const [repository, texts] of tagsByRepository(image)) {
      const versions = repositories.get(repository) ?? [];
      const tags = texts.map(tagOf);
      steps.take(STEPS_OF_REPOSITORY + repository.length + sortSteps(tags));
      versions.push({ image, tag: tags.toSorted(compareTags).at(-1) ?? NO_TAG });
      repositories.set(repository, versions);
    }
  }
  return repositories;
}

/** To find a repository takes as long as so many comparisons of characters. */
const STEPS_OF_REPOSITORY = 40;
/** To compare two parts of tags, which may be long numbers, takes as long as so many comparisons of characters. */
const STEPS_OF_PART = 16;

/** Sorting compares each entry about as often as their number has digits in base two. */
const sortSteps = (tags: readonly Tag[]): number =>
  tags.reduce((sum, { parts, text }) => sum + STEPS_OF_PART * (1 + parts.length) + text.length, 0) *
  Math.ceil(Math.log2(tags.length + 1));

const compareVersions = (a: Version, b: Version): number =>
  b.image.firstDetectedMs - a.image.firstDetectedMs || compareTags(b.tag, a.tag);

const DIGITS_OR_OTHERS = /\d+|\D+/g;
const DIGITS = /^\d/;

/** Numbers within tags count as numbers: `v1.9` is lower than `v1.10`. What is equal so far is lower where it ends. */
function compareTags(a: Tag, b: Tag): number {
  for (let index = 0; index < Math.max(a.parts.length, b.parts.length); index++) {
    const order = compareParts(a.parts[index] ?? '', b.parts[index] ?? '');
    if (order !== 0) return order;
  }
  return compareText(a.text, b.text);
}

const tagOf = (text: string): Tag => ({ text, parts: text.match(DIGITS_OR_OTHERS) ?? [] });
const NO_TAG = tagOf('');

function compareParts(a: string, b: string): number {
  if (a === b) return 0;
  if (!DIGITS.test(a) || !DIGITS.test(b)) return compareText(a, b);
  const [numberA, numberB] = [BigInt(a), BigInt(b)];
  return Number(numberA > numberB) - Number(numberA < numberB);
}

/**
 * Whether an image has a user in one of the kept namespaces; the answer is that user's namespace. The namespace of a pod
 * without a container or sandbox is not told: it may be a kept one, and the answer is `unknown`.
 */
function keptNamespaceOf(
  { containers, sandboxes }: CompleteInventory,
  namespaces: readonly string[],
): (image: InventoryImage) => string | undefined {
  if (namespaces.length === 0) return () => undefined;
  const kept = new Set(namespaces);
  const podOf = new Map<string, string>();
  for (const { id, pod } of [...containers, ...sandboxes]) {
    if (pod === null) continue;
    podOf.set(id, pod.namespace);
    podOf.set(pod.uid, pod.namespace);
  }
  const namespaceOf = ({ kind, id }: ImageUser): string | undefined =>
    podOf.get(id) ?? (kind === 'pod' ? UNKNOWN : undefined);
  return ({ usedBy }) =>
    usedBy
      .map(namespaceOf)
      .find((namespace) => namespace !== undefined && (namespace === UNKNOWN || kept.has(namespace)));
}

const UNKNOWN = 'unknown';

/**
 * Keep rules about images that match none of this node, which may be by mistake (M11). Of kept namespaces container-gc
 * tells, which sees all that is in them.
 */
export function keepNotes(
  inventory: CompleteInventory,
  { lastVersions }: PolicyKeep,
  { withoutMatch }: KeepMatcher,
): Note[] {
  const images = inventory.images.filter((image) => !hasUnreadableNames(image));
  return [
    ...withoutMatch(images).map((rule) => note(`keep rule ${rule} matches no image of this node`)),
    ...(lastVersions > 0 && !images.some((image) => tagsByRepository(image).size > 0)
      ? [note('no image of this node belongs to a repository of which versions are kept')]
      : []),
  ];
}

const note = (message: string): Note => ({ rule: 'M11', message });

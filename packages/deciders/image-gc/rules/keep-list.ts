import type { CompleteInventory, ImageUser, InventoryImage } from '../../../../schemas/events/inventory.ts';
import { compareText } from '../../../../schemas/events/text-order.ts';
import {
  hasUnreadableNames,
  type KeepMatcher,
  tagsByRepository,
} from '../../../../schemas/policy/image-pattern.ts';
import type { PolicyKeep } from '../../../../schemas/policy/policy.ts';
import { MAX_DECISION_STEPS, Steps } from '../../../../schemas/policy/steps.ts';
import type { Note } from '../../../decision/conclusion.ts';

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
export function keptNamespaceOf(
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

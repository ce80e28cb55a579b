import type { Note } from '../../../packages/decision/conclusion.ts';
import type { CompleteInventory, ImageUser, InventoryImage } from '../../../schemas/events/inventory.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import { rulesWithoutMatch, tagsByRepository } from '../../../schemas/policy/image-pattern.ts';
import type { PolicyKeep } from '../../../schemas/policy/policy.ts';

/** One image as a version of one repository. */
interface Version {
  readonly image: InventoryImage;
  /** The highest of its tags there; empty when it has none. */
  readonly tag: string;
}

/**
 * The newest `count` images of each repository, by image id, with the repository that keeps them: first detected last,
 * then the higher tag. Images that neither tells apart are kept together. What is not believed takes no place (M11).
 */
export function keptVersions(images: readonly InventoryImage[], count: number): Map<string, string> {
  const kept = new Map<string, string>();
  if (count === 0) return kept;
  for (const [repository, versions] of versionsByRepository(images)) {
    const newestFirst = versions.toSorted(compareVersions);
    const last = newestFirst[Math.min(count, newestFirst.length) - 1];
    for (const version of newestFirst) {
      if (last && compareVersions(version, last) <= 0) kept.set(version.image.id, repository);
    }
  }
  return kept;
}

function versionsByRepository(images: readonly InventoryImage[]): Map<string, Version[]> {
  const repositories = new Map<string, Version[]>();
  for (const image of images) {
    for (const [repository, tags] of tagsByRepository(image)) {
      const versions = repositories.get(repository) ?? [];
      versions.push({ image, tag: tags.toSorted(compareTags).at(-1) ?? '' });
      repositories.set(repository, versions);
    }
  }
  return repositories;
}

const compareVersions = (a: Version, b: Version): number =>
  b.image.firstDetectedMs - a.image.firstDetectedMs || compareTags(b.tag, a.tag);

const DIGITS_OR_OTHERS = /\d+|\D+/g;
const DIGITS = /^\d/;

/** Numbers within tags count as numbers: `v1.9` is lower than `v1.10`. What is equal so far is lower where it ends. */
function compareTags(a: string, b: string): number {
  const [partsOfA, partsOfB] = [partsOf(a), partsOf(b)];
  for (let index = 0; index < Math.max(partsOfA.length, partsOfB.length); index++) {
    const order = compareParts(partsOfA[index] ?? '', partsOfB[index] ?? '');
    if (order !== 0) return order;
  }
  return compareText(a, b);
}

const partsOf = (tag: string): readonly string[] => tag.match(DIGITS_OR_OTHERS) ?? [];

function compareParts(a: string, b: string): number {
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
export function keepNotes({ images }: CompleteInventory, { lastVersions, ...rules }: PolicyKeep): Note[] {
  return [
    ...rulesWithoutMatch(rules, images).map((rule) =>
      note(`keep rule ${rule} matches no image of this node`),
    ),
    ...(lastVersions > 0 && !images.some((image) => tagsByRepository(image).size > 0)
      ? [note('no image of this node belongs to a repository of which versions are kept')]
      : []),
  ];
}

const note = (message: string): Note => ({ rule: 'M11', message });

import { rulesWithoutMatch, tagsByRepository } from '../../../schemas/image-pattern.ts';
import type { CompleteInventory } from '../../../schemas/inventory.ts';
import type { PolicyKeep } from '../../../schemas/policy.ts';
import type { Note } from '../../shared/decision/conclusion.ts';

/** Keep rules of the policy that match nothing on this node, which may be by mistake (M11). */
export function keepNotes(
  { images, containers, sandboxes }: CompleteInventory,
  { namespaces, lastVersions, ...rules }: PolicyKeep,
): Note[] {
  const present = new Set([...containers, ...sandboxes].map(({ pod }) => pod?.namespace));
  return [
    ...rulesWithoutMatch(rules, images).map((rule) =>
      note(`keep rule ${rule} matches no image of this node`),
    ),
    ...namespaces
      .filter((namespace) => !present.has(namespace))
      .map((namespace) => note(`no container or sandbox of this node is in the kept namespace ${namespace}`)),
    ...(lastVersions > 0 && !images.some((image) => tagsByRepository(image).size > 0)
      ? [note('no image of this node belongs to a repository of which versions are kept')]
      : []),
  ];
}

const note = (message: string): Note => ({ rule: 'M11', message });

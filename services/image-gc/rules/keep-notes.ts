import type { Note } from '../../../packages/decision/conclusion.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { rulesWithoutMatch, tagsByRepository } from '../../../schemas/policy/image-pattern.ts';
import type { PolicyKeep } from '../../../schemas/policy/policy.ts';

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

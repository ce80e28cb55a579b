import type { CompleteInventory, InventoryContainer } from '../../schemas/events/inventory.ts';
import { kindsOf, type RemovalKind } from '../../schemas/events/object-kinds.ts';
import { MAX_DECISION_STEPS, Steps, TooCostly } from '../../schemas/policy/steps.ts';
import { type Conclusion, keepAll } from './conclusion.ts';
import { OWN_RULES } from './own-rules.ts';

/** What a decision comes to, or `tooCostly` where it takes more steps than one may: then everything is kept (P10). */
export function withinSteps<Answer>(
  decide: (steps: Steps) => Answer,
  tooCostly: () => Answer,
  steps = new Steps(MAX_DECISION_STEPS),
): Answer {
  try {
    return decide(steps);
  } catch (error) {
    if (error instanceof TooCostly) return tooCostly();
    throw error;
  }
}

/** Why everything is kept. */
export const TOO_COSTLY = { outcome: 'too-costly', reason: OWN_RULES.P10 } as const;

/** Every object that the decider answers for is kept. */
export const tooCostlyConclusion = (inventory: CompleteInventory, removal: RemovalKind): Conclusion => ({
  ...TOO_COSTLY,
  notBelieved: [],
  verdicts: keepAll(inventory, kindsOf(removal), { rule: 'P10', facts: {} }),
  estimatedBytes: 0,
  reclaim: inventory.reclaim,
});

/**
 * To look at an object takes as long as so many comparisons of characters, by what the rules do with it: dead containers are sorted and
 * counted several times, and an entry of a log directory is taken apart. Measured, and rather too much than too little.
 */
const STEPS_OF = { image: 220, container: 500, sandbox: 400, pod: 150, logEntry: 250 } as const;
/** To look at an entry of one of its lists. */
const STEPS_OF_ENTRY = 6;
/** A name among others is put into a set. */
const STEPS_OF_NAME = 12;
/** So many characters of a text are hashed or compared in one step; what a record repeats takes a step for each. */
const CHARACTERS_A_STEP = 4;

/** Takes the steps that rules need for the objects of an inventory alone: so many for each, and for the texts that tell them apart. */
export function takeForObjects(inventory: CompleteInventory, steps: Steps): void {
  const { images, containers, sandboxes, pods, podLogDirectories, logSymlinks, layers, diedContainerIds } =
    inventory;
  const objects =
    STEPS_OF.image * images.length +
    STEPS_OF.container * containers.length +
    STEPS_OF.sandbox * sandboxes.length +
    STEPS_OF.pod * pods.length +
    STEPS_OF.logEntry * ((podLogDirectories?.length ?? 0) + (logSymlinks?.length ?? 0));
  steps.take(objects + STEPS_OF_ENTRY * ((layers?.length ?? 0) + diedContainerIds.length));
  let [entries, names, characters, repeated] = [0, 0, 0, 0];
  for (const { id, usedBy, layers: ofImage, repoTags, repoDigests } of images) {
    entries += usedBy.length + (ofImage?.length ?? 0) + repoTags.length + repoDigests.length;
    characters += id.length;
    for (const user of usedBy) repeated += user.id.length;
  }
  for (const { id, name, sandboxId, imageId, logPath, pod } of containers) {
    characters += id.length + name.length + sandboxId.length + imageId.length + (logPath?.length ?? 0);
    characters += podCharacters(pod);
  }
  for (const { id, podUid, pod } of sandboxes) characters += id.length + podUid.length + podCharacters(pod);
  for (const { uid, initContainers } of pods) {
    names += initContainers?.length ?? 0;
    characters += uid.length;
    for (const name of initContainers ?? []) characters += name.length;
  }
  for (const { name, podUid } of podLogDirectories ?? []) characters += name.length + podUid.length;
  for (const { name } of logSymlinks ?? []) characters += name.length;
  for (const id of diedContainerIds) characters += id.length;
  steps.take(
    STEPS_OF_ENTRY * entries + STEPS_OF_NAME * names + Math.ceil(characters / CHARACTERS_A_STEP) + repeated,
  );
}

const podCharacters = (pod: InventoryContainer['pod']): number =>
  pod === null ? 0 : pod.uid.length + pod.name.length + pod.namespace.length;

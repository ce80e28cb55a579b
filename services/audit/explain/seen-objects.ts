import { namesIn, type ObjectNames } from '../../../packages/decision/object-names.ts';
import type { ObjectKind } from '../../../schemas/events/command.ts';
import type { Decision } from '../../../schemas/events/decision.ts';
import type { CompleteInventory, InventoryImage } from '../../../schemas/events/inventory.ts';
import type { ExplainedKind, ExplainedObject, ExplainedUser } from '../../../schemas/reports/timeline.ts';

export type Traits = Decision['verdicts']['images'][number]['facts'];

/** One object as an inventory shows it. */
export interface SeenObject {
  readonly object: ExplainedObject;
  /** In its list, as verdicts name it. */
  readonly position: number;
  readonly podUid: string | null;
  /** What may change of it and is worth telling. */
  readonly traits: Traits;
  /** What is told once. */
  readonly details: Traits;
  /** Of an image. */
  readonly use: ImageUse | null;
}

export interface ImageUse {
  readonly users: readonly ExplainedUser[];
  readonly lastUsedMs: number | null;
}

/** Whoever has a UID in an inventory; its name is known from what belongs to it. */
export type PodNames = ReadonlyMap<string, string>;

export const objectKey = ({ kind, id }: Pick<ExplainedUser, 'kind' | 'id'>): string => `${kind}/${id}`;

/** The list of verdicts that speaks of a kind of object; none of pods and nodes. */
export const LIST_OF: Partial<Readonly<Record<ExplainedKind, keyof Decision['verdicts']>>> = {
  image: 'images',
  container: 'containers',
  sandbox: 'sandboxes',
  'pod-log-directory': 'podLogDirectories',
  'log-symlink': 'logSymlinks',
} satisfies Readonly<Record<ObjectKind, keyof Decision['verdicts']>>;

/** Names of pods, `<namespace>/<name>`, by UID. */
export function podNamesIn({ containers, sandboxes }: CompleteInventory): PodNames {
  const pods = [...containers, ...sandboxes].flatMap(({ pod }) => (pod === null ? [] : [pod]));
  return new Map(pods.map(({ uid, namespace, name }) => [uid, `${namespace}/${name}`]));
}

/** Everything that an inventory lists, also what belongs to no pod. */
export function objectsIn(inventory: CompleteInventory, podNames: PodNames): SeenObject[] {
  const names = namesIn(inventory);
  const nameOf = namesById(inventory, names, podNames);
  return [
    ...inventory.images.map((image, position) => ({
      ...seen('image', image.id, names.images[position], position),
      ...imageTraits(image),
      use: {
        users: image.usedBy.map(({ kind, id }) => userOf(kind, id, nameOf)),
        lastUsedMs: image.lastUsedMs,
      },
    })),
    ...inventory.containers.map(({ id, pod, state }, position) => ({
      ...seen('container', id, names.containers[position], position),
      podUid: pod?.uid ?? null,
      traits: { state },
    })),
    ...inventory.sandboxes.map(({ id, podUid, state }, position) => ({
      ...seen('sandbox', id, names.sandboxes[position], position),
      podUid,
      traits: { state },
    })),
    ...inventory.pods.map(({ uid, state }, position) => ({
      ...seen('pod', uid, podNames.get(uid), position),
      podUid: uid,
      traits: { state },
    })),
    ...(inventory.podLogDirectories ?? []).map(({ name, podUid }, position) => ({
      ...seen('pod-log-directory', name, name, position),
      podUid,
    })),
    ...(inventory.logSymlinks ?? []).map(({ name, container }, position) => ({
      ...seen('log-symlink', name, name, position),
      traits: { container },
    })),
  ];
}

const seen = (kind: ExplainedKind, id: string, name: string | undefined, position: number): SeenObject => ({
  object: { kind, id, name: name ?? id },
  position,
  podUid: null,
  traits: {},
  details: {},
  use: null,
});

const imageTraits = ({ repoTags, repoDigests, sizeBytes, pinned, firstDetectedMs }: InventoryImage) => ({
  traits: { tags: repoTags.join(' '), pinned },
  details: { digests: repoDigests.join(' '), sizeBytes, firstDetectedMs },
});

function namesById(
  { containers, sandboxes }: CompleteInventory,
  names: ObjectNames,
  podNames: PodNames,
): PodNames {
  return new Map([
    ...podNames,
    ...containers.map(({ id }, position) => [id, names.containers[position] ?? id] as const),
    ...sandboxes.map(({ id }, position) => [id, names.sandboxes[position] ?? id] as const),
  ]);
}

const userOf = (
  kind: InventoryImage['usedBy'][number]['kind'],
  id: string,
  names: PodNames,
): ExplainedUser => ({
  kind: kind === 'sandbox-image' ? 'image' : kind,
  id,
  name: names.get(id) ?? id,
});

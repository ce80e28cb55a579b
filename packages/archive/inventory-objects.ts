import type { Verdict } from '../../schemas/events/decision.ts';
import type { CompleteInventory, InventoryImage } from '../../schemas/events/inventory.ts';
import { ObjectKind } from '../../schemas/events/object-kinds.ts';
import type { ExplainedObject, ExplainedUser } from '../../schemas/reports/timeline.ts';
import { type EntryOf, entriesOf, idOf, nameOf } from '../decision/inventory-entries.ts';

export type Traits = Verdict['facts'];

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

interface ImageUse {
  readonly users: readonly ExplainedUser[];
  readonly lastUsedMs: number | null;
}

/** Whoever has a UID in an inventory; its name is known from what belongs to it. */
export type PodNames = ReadonlyMap<string, string>;

/** Names of pods, `<namespace>/<name>`, by UID. */
export function podNamesIn({ containers, sandboxes }: CompleteInventory): PodNames {
  const pods = [...containers, ...sandboxes].flatMap(({ pod }) => (pod === null ? [] : [pod]));
  return new Map(pods.map(({ uid, namespace, name }) => [uid, `${namespace}/${name}`]));
}

/** Everything that an inventory lists, also what belongs to no pod. */
export function objectsIn(inventory: CompleteInventory, podNames: PodNames): SeenObject[] {
  const names = namesById(inventory, podNames);
  const lookedAt: { readonly [Kind in ObjectKind]: (entry: EntryOf<Kind>) => Seen } = {
    container: ({ pod, state }) => ({ podUid: pod?.uid ?? null, traits: { state } }),
    sandbox: ({ podUid, state }) => ({ podUid, traits: { state } }),
    'pod-log-directory': ({ podUid }) => ({ podUid }),
    'log-symlink': ({ container }) => ({ traits: { container } }),
    image: (image) => ({
      ...imageTraits(image),
      use: {
        users: image.usedBy.map(({ kind, id }) => userOf(kind, id, names)),
        lastUsedMs: image.lastUsedMs,
      },
    }),
  };
  const seenOf = <Kind extends ObjectKind>(kind: Kind): SeenObject[] =>
    entriesOf(inventory, kind).map((entry, position) => ({
      ...seen({ kind, id: idOf(kind, entry), name: nameOf(kind, entry) }, position),
      ...lookedAt[kind](entry),
    }));
  const pods = inventory.pods.map(({ uid, state }, position) => ({
    ...seen({ kind: 'pod', id: uid, name: podNames.get(uid) ?? uid }, position),
    podUid: uid,
    traits: { state },
  }));
  return [...ObjectKind.options.flatMap(seenOf), ...pods];
}

type Seen = Partial<Omit<SeenObject, 'object' | 'position'>>;

const seen = (object: ExplainedObject, position: number): SeenObject => ({
  object,
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

const namesById = (inventory: CompleteInventory, podNames: PodNames): PodNames =>
  new Map([...podNames, ...USERS.flatMap((kind) => namedBy(inventory, kind))]);

/** Kinds of objects that use images. */
const USERS = ['container', 'sandbox'] as const satisfies readonly ObjectKind[];

const namedBy = <Kind extends ObjectKind>(inventory: CompleteInventory, kind: Kind): [string, string][] =>
  entriesOf(inventory, kind).map((entry) => [idOf(kind, entry), nameOf(kind, entry)]);

const userOf = (
  kind: InventoryImage['usedBy'][number]['kind'],
  id: string,
  names: PodNames,
): ExplainedUser => ({
  kind: kind === 'sandbox-image' ? 'image' : kind,
  id,
  name: names.get(id) ?? id,
});

import type { Verdict } from '../../schemas/events/decision.ts';
import type { CompleteInventory, ImageUser, InventoryImage } from '../../schemas/events/inventory.ts';
import { kindsOf, ObjectKind } from '../../schemas/events/object-kinds.ts';
import type { Policy } from '../../schemas/policy/policy.ts';
import type { Steps } from '../../schemas/policy/steps.ts';
import type { Plan, PlannedObject } from '../../schemas/reports/plan.ts';
import { doubts, runningTwice } from '../deciders/container-gc/rules/doubts.ts';
import { type ContainerPlan, planPass } from '../deciders/container-gc/rules/plan.ts';
import { unmatchedNamespaces } from '../deciders/container-gc/rules/pods.ts';
import { type ImagePlan, planImages } from '../deciders/image-gc/plan-images.ts';
import type { Contents } from '../deciders/image-gc/rules/contents.ts';
import { imageDoubts } from '../deciders/image-gc/rules/doubts.ts';
import type { ImagePass } from '../deciders/image-gc/rules/pass.ts';
import { keepNotes } from '../deciders/image-gc/rules/protection.ts';
import { verdicts } from '../deciders/image-gc/rules/verdicts.ts';
import { type Doubt, type Kept, keepAll, type Note } from '../decision/conclusion.ts';
import { type ListedObject, objectsIn } from '../decision/inventory-entries.ts';
import { keptBecause, removedBecause } from '../decision/rule-text.ts';
import { takeForObjects } from '../decision/step-budget.ts';
import type { Order } from './trigger.ts';

/** What one pass over a node comes to. */
export interface Passed extends Pick<Plan, 'target' | 'reason'> {
  /** What the images of the inventory consist of; `null` where no image was judged. */
  readonly contents: Contents | null;
  readonly judged: PassVerdicts;
  readonly actions: Order['actions'];
  /** What the images that go free, as a decision counts it (M7, D14). */
  readonly estimatedBytes: bigint;
  readonly notBelieved: readonly Doubt[];
  readonly notes: readonly Note[];
}

/** Goes through the actions of an order; images are decided on what containers leave. */
export function passThrough(
  inventory: CompleteInventory,
  policy: Policy,
  order: Order,
  steps: Steps,
): Passed {
  takeForObjects(inventory, steps);
  const asked = { ...inventory, reclaim: order.reclaim };
  const containers = order.actions.includes('containers') ? containerPlan(asked, policy, order, steps) : null;
  const left = containers === null ? asked : afterContainers(asked, containers);
  const images = order.actions.includes('images') ? planImages(left, policy, order.imageMode, steps) : null;
  const reported = [order.reason, ...(images === null ? [] : imageReasons(images))];
  return {
    judged: passVerdicts(inventory, containers, images),
    actions: order.actions,
    reason: reported.filter((text) => text !== '').join('; '),
    contents: images?.eligibility.contents ?? null,
    target: images && targetOf(images.pass),
    estimatedBytes: (images?.removals ?? []).reduce((sum, removal) => sum + removal.estimatedBytes, 0n),
    notBelieved: [
      ...(containers === null ? [] : doubts(inventory, policy)),
      ...(images === null
        ? []
        : [...images.pass.notBelieved, ...imageDoubts(inventory, policy, images.eligibility)]),
    ],
    notes: [
      ...(containers === null ? [] : [...runningTwice(inventory), ...unmatchedNamespaces(inventory, policy)]),
      ...(images === null ? [] : keepNotes(inventory, policy.keep, images.eligibility.matcher)),
    ],
  };
}

const containerPlan = (
  inventory: CompleteInventory,
  policy: Policy,
  { evictNonDeletedPods }: Order,
  steps: Steps,
): ContainerPlan =>
  planPass({ inventory, policy, evictNonDeletedPods, waits: false, isForCommand: false }, steps);

/** Of what the order does not go through. */
const NOT_ASKED: Kept = { rule: 'J5', facts: {} };

const passVerdicts = (
  inventory: CompleteInventory,
  containers: ContainerPlan | null,
  images: ImagePlan | null,
): PassVerdicts => ({
  verdicts: [
    ...(containers === null ? podObjectsKept(inventory, NOT_ASKED) : containers.verdicts),
    ...(images === null ? keepAll(inventory, kindsOf('image-removal'), NOT_ASKED) : imageVerdicts(images)),
  ],
  order: {
    container: positions(containers?.containers ?? []),
    sandbox: positions(containers?.sandboxes ?? []),
    image: images?.removals.map(({ position }) => position) ?? [],
  },
  freedByImage: new Map(images?.removals.map(({ position, estimatedBytes }) => [position, estimatedBytes])),
  doubtedImages: new Set(images === null ? [] : doubted(images)),
});

const positions = (selected: readonly { readonly item: { readonly position: number } }[]): number[] =>
  selected.map(({ item: { position } }) => position);

/** As in a decision record, of a command that holds them all. */
const imageVerdicts = ({ removals, spared, eligibility }: ImagePlan) =>
  verdicts({ removals, spared, protected: eligibility.protected });

const doubted = ({ pass, spared }: ImagePlan): number[] =>
  pass.kind === 'keep' && pass.outcome === 'not-believed' ? spared.map(({ position }) => position) : [];

function imageReasons({ pass, removals }: ImagePlan): string[] {
  const byAge = removals.filter(({ rule }) => rule === 'E3').length;
  return [
    ...(byAge === 0 ? [] : [`${byAge} image(s) were unused for longer than the maximum age`]),
    pass.kind === 'remove' ? pass.why : pass.reason,
  ];
}

function targetOf(pass: ImagePass): Plan['target'] {
  if (pass.kind === 'keep' || pass.lack === null) return null;
  const { resource, availableNow, missing } = pass.lack;
  return {
    filesystem: pass.reclaim?.target.filesystem ?? 'imagefs',
    resource,
    atLeast: String(availableNow + missing),
    available: String(availableNow),
  };
}

/**
 * The inventory once what is planned of containers and sandboxes is gone: images are decided on a fresh look, at which
 * those that only a removed container used are free (J21).
 */
export function afterContainers(
  inventory: CompleteInventory,
  { containers, sandboxes }: Pick<ContainerPlan, 'containers' | 'sandboxes'>,
): CompleteInventory {
  const gone = new Set([...containers, ...sandboxes].map(({ item: { id } }) => id));
  if (gone.size === 0) return inventory;
  const stays = ({ id }: { readonly id: string }): boolean => !gone.has(id);
  const uses = (user: ImageUser): boolean =>
    (user.kind !== 'container' && user.kind !== 'sandbox') || stays(user);
  const { wallTimeMs } = inventory.takenAt;
  return {
    ...inventory,
    containers: inventory.containers.filter(stays),
    sandboxes: inventory.sandboxes.filter(stays),
    containersWithoutImage: inventory.containersWithoutImage.filter((id) => !gone.has(id)),
    images: inventory.images.map((image) => released(image, uses, wallTimeMs)),
  };
}

/**
 * What was in use when the node was looked at was last used then, which is before the next look (D9). A time after the
 * look is not believed and goes on to keep the image.
 */
function released(
  image: InventoryImage,
  uses: (user: ImageUser) => boolean,
  takenAtMs: number,
): InventoryImage {
  const usedBy = image.usedBy.filter(uses);
  if (usedBy.length === image.usedBy.length) return image;
  const isFree = usedBy.length === 0 && image.lastUsedMs === takenAtMs;
  return { ...image, usedBy, lastUsedMs: isFree ? takenAtMs - 1 : image.lastUsedMs };
}

/** What becomes of every object. */
interface PassVerdicts {
  readonly verdicts: readonly Verdict[];
  /** Positions of what goes, in the order in which it goes; of a kind that is left out, the order of its list. */
  readonly order: Partial<Readonly<Record<ObjectKind, readonly number[]>>>;
  /** What the removal of an image frees once all before it are gone, by its position. */
  readonly freedByImage: ReadonlyMap<number, bigint>;
  /** Positions of images that stay since too little is known of the node as a whole. */
  readonly doubtedImages: ReadonlySet<number>;
}

/** Every object of the inventory once, by kind in the order of a pass: what goes in its order, and what stays. */
export function plannedObjects(
  inventory: CompleteInventory,
  { verdicts, order, doubtedImages, freedByImage }: PassVerdicts,
): { remove: PlannedObject[]; keep: PlannedObject[] } {
  const listed = new Map(withDistinctNames(objectsIn(inventory)).map((object) => [keyOf(object), object]));
  const freed = new Map(
    [...freedByImage].map(([position, bytes]) => [keyOf({ kind: 'image', position }), String(bytes)]),
  );
  const toObject = (verdict: Verdict): PlannedObject => {
    const { kind, position, rule, facts } = verdict;
    const { id = '', name = '' } = listed.get(keyOf(verdict)) ?? {};
    const isDoubted = kind === 'image' && doubtedImages.has(position);
    const sizeBytes = sizeOf(inventory, verdict);
    const freedBytes = freed.get(keyOf(verdict)) ?? null;
    const because = isDoubted ? DOUBTED : textOf(verdict);
    return { kind, id, name, sizeBytes, freedBytes, rule, because, facts };
  };
  return {
    remove: ObjectKind.options.flatMap((kind) => removed(verdicts, kind, order[kind])).map(toObject),
    keep: verdicts.filter(({ action }) => action === 'keep').map(toObject),
  };
}

/** A pod that was created again under its name has containers of the same names: their ids tell them apart. */
function withDistinctNames(objects: readonly ListedObject[]): readonly ListedObject[] {
  const sameName = ({ kind, name }: ListedObject): string => `${kind} ${name}`;
  const counts = Map.groupBy(objects, sameName);
  return objects.map((object) =>
    counts.get(sameName(object))?.length === 1 || object.id === object.name
      ? object
      : { ...object, name: `${object.name} (${shortId(object.id)})` },
  );
}

const shortId = (id: string): string => id.replace(/^sha256:/, '').slice(0, 13);

const keyOf = ({ kind, position }: Pick<ListedObject, 'kind' | 'position'>): string => `${kind} ${position}`;

/** Of anything but an image the runtime tells no size. */
function sizeOf({ images }: CompleteInventory, { kind, position }: Verdict): number | null {
  switch (kind) {
    case 'image':
      return images[position]?.sizeBytes ?? null;
    case 'container':
    case 'sandbox':
    case 'pod-log-directory':
    case 'log-symlink':
      return null;
  }
}

const DOUBTED = 'not enough is known to remove any image';

const textOf = (verdict: Verdict): string =>
  verdict.action === 'remove' ? removedBecause(verdict.rule) : keptBecause(verdict, 'nothing-to-do');

function removed(
  verdicts: readonly Verdict[],
  kind: ObjectKind,
  order: readonly number[] | undefined,
): readonly Verdict[] {
  const going = verdicts.filter((verdict) => verdict.kind === kind && verdict.action === 'remove');
  if (order === undefined) return going;
  const byPosition = new Map(going.map((verdict) => [verdict.position, verdict]));
  return order.flatMap((position) => byPosition.get(position) ?? []);
}

/** All objects stay for one reason. */
export const allKept = (inventory: CompleteInventory, kept: Kept): readonly Verdict[] =>
  keepAll(inventory, ObjectKind.options, kept);

/** As `allKept`, of all but images. */
const podObjectsKept = (inventory: CompleteInventory, kept: Kept): readonly Verdict[] =>
  keepAll(inventory, kindsOf('container-removal'), kept);

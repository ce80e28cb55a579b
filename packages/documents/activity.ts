import type { Holder } from '../../schemas/events/command.ts';
import type { Decision } from '../../schemas/events/decision.ts';
import type { FilesystemReading } from '../../schemas/events/filesystem.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import type { ObjectKind } from '../../schemas/events/object-kinds.ts';
import { isAtBeginning } from '../../schemas/events/reclaim.ts';
import type { ObjectResult, PressureUnrelieved } from '../../schemas/events/result.ts';
import type { FleetEvent } from '../../schemas/events/topics.ts';
import { type FreedSpace, type FreedSums, freedSpace } from '../decision/freed-space.ts';
import { objectsIn } from '../decision/inventory-entries.ts';
import { countedAs, keptBecause, removedBecause } from '../decision/rule-text.ts';
import { counted } from '../text/counted.ts';
import { sizeText } from '../text/size-text.ts';

/** One line about what happened; `null` for what only moves the bar. */
export function activityLine(activity: Activity): string | null {
  switch (activity.kind) {
    case 'usage':
    case 'kept':
      return null;
    case 'reclaim':
      return `disk at ${activity.reading} (threshold ${activity.threshold}): making room`;
    case 'removed':
      return `- ${activity.object} ${activity.name}${removalFreedText(activity.freed)}: ${activity.why}`;
    case 'stayed':
      return `= ${activity.object} ${activity.name} stays: ${activity.why}`;
    case 'gone-already':
      return `= ${activity.object} ${activity.name} was gone already`;
    case 'unrelieved':
      return `no more can go: ${holdersText(activity.holders)}`;
  }
}

function removalFreedText(freed: FreedSpace): string {
  if (freed.how === 'measured') return freed.bytes > 0n ? ` (${sizeText(freed.bytes)} freed)` : '';
  return freed.estimatedBytes === null
    ? ''
    : ` (about ${sizeText(freed.estimatedBytes)} by estimate, not measurable)`;
}

/** An inventory's as a whole, and those of some before it; each takes some hundred bytes. */
export const MOST_NAMES = 25_000;

/** What a person who watches is shown of the event log. */
export type Activity =
  | {
      readonly kind: 'usage';
      readonly node: string;
      readonly usedBytes: bigint;
      readonly capacityBytes: bigint;
    }
  | { readonly kind: 'reclaim'; readonly node: string; readonly reading: string; readonly threshold: string }
  | {
      readonly kind: 'removed';
      readonly node: string;
      readonly object: ObjectKind;
      readonly name: string;
      readonly why: string;
      readonly freed: FreedSpace;
    }
  | {
      readonly kind: 'stayed';
      readonly node: string;
      readonly object: ObjectKind;
      readonly name: string;
      readonly why: string;
      /** The same in a word or two, for counting. */
      readonly reason: string;
    }
  /** A command named it, and somebody else was quicker. */
  | {
      readonly kind: 'gone-already';
      readonly node: string;
      readonly object: ObjectKind;
      readonly name: string;
    }
  | { readonly kind: 'unrelieved'; readonly node: string; readonly holders: PressureUnrelieved['holders'] }
  /** What a decision kept of one kind of object: how many, by reason. */
  | {
      readonly kind: 'kept';
      readonly node: string;
      readonly object: ObjectKind;
      readonly byReason: ReadonlyMap<string, number>;
    };

export interface ActivityReader {
  activitiesIn(event: FleetEvent): readonly Activity[];
}

/** Turns events of the event log into activities, with the names that the newest inventories have for ids. */
export function createActivityReader(): ActivityReader {
  const names = new Map<string, string>();
  return {
    activitiesIn: (event) => {
      switch (event.type) {
        case 'fleetgc.node.inventory':
          if (event.status === 'complete') addNames(names, event);
          return usage(event.node, event.filesystems.imagefs);
        case 'fleetgc.node.disk-stats':
          return usage(event.node, event.filesystems.imagefs);
        case 'fleetgc.node.decision':
          return decided(event);
        case 'fleetgc.node.object-result':
          return [became(event, names.get(nameKey(event.node, event.object.id)) ?? shortId(event.object.id))];
        case 'fleetgc.node.pressure-unrelieved':
          return [{ kind: 'unrelieved', node: event.node, holders: event.holders }];
        // Results tell what became of these, or they are no matter of one node.
        case 'fleetgc.node.observe':
        case 'fleetgc.node.command':
        case 'fleetgc.node.command-result':
        case 'fleetgc.node.removal-intent':
        case 'fleetgc.node.pass-failed':
        case 'fleetgc.node.reclaim-continues':
        case 'fleetgc.archive-head':
        case 'fleetgc.decision-head':
        case 'fleetgc.cluster.ownership':
        case 'fleetgc.cluster.pods':
        case 'fleetgc.cluster.expiry':
        case 'fleetgc.cluster.command':
        case 'fleetgc.cluster.removed':
        case 'fleetgc.cluster.command-intent':
        case 'fleetgc.cluster.object-results':
        case 'fleetgc.cluster.command-result':
        case 'fleetgc.cluster.decision':
        case 'fleetgc.cluster.census':
        case 'fleetgc.policy':
        case 'fleetgc.cluster-policy':
        case 'fleetgc.pause':
        case 'fleetgc.approval':
        case 'fleetgc.policy-deletion':
        case 'fleetgc.policy-set':
        case 'fleetgc.key-certificate':
        case 'fleetgc.key-revocation':
        case 'fleetgc.node.latest-fact':
        case 'fleetgc.cluster.latest-fact':
        case 'fleetgc.dead-letter':
        case 'fleetgc.dead-letter-redrive':
          return [];
      }
    },
  };
}

const nameKey = (node: string, id: string): string => `${node}/${id}`;
const shortId = (id: string): string => id.replace(/^sha256:/, '').slice(0, 12);

function addNames(names: Map<string, string>, inventory: CompleteInventory): void {
  for (const { id, name } of objectsIn(inventory)) {
    const key = nameKey(inventory.node, id);
    // What was listed longest ago comes first, and is the first to go.
    names.delete(key);
    names.set(key, name === id ? shortId(id) : name);
  }
  for (const oldest of names.keys()) {
    if (names.size <= MOST_NAMES) return;
    names.delete(oldest);
  }
}

function usage(node: string, reading: FilesystemReading | null): readonly Activity[] {
  if (!reading?.capacityBytes || !reading.availableBytes) return [];
  const capacityBytes = BigInt(reading.capacityBytes);
  return [{ kind: 'usage', node, capacityBytes, usedBytes: capacityBytes - BigInt(reading.availableBytes) }];
}

function decided(decision: Decision): readonly Activity[] {
  const { node, decider, outcome, reclaim } = decision;
  switch (decider.name) {
    case 'pressure':
      if (outcome !== 'ordered' || !reclaim || !isAtBeginning(reclaim)) return [];
      return [{ kind: 'reclaim', node, reading: reclaim.cause.reading, threshold: reclaim.cause.threshold }];
    case 'image-gc':
    case 'container-gc':
      return kept(decision);
  }
}

/** Without facts nothing is judged, and the decision before it still tells what stays. */
const kept = ({ node, outcome, verdicts }: Decision): readonly Activity[] =>
  [...Map.groupBy(verdicts, ({ kind }) => kind)].map(([object, ofKind]) => {
    const reasons = ofKind
      .filter(({ action }) => action === 'keep')
      .map((verdict) => countedAs(keptBecause(verdict, outcome), verdict));
    const byReason = new Map(
      [...Map.groupBy(reasons, (reason) => reason)].map(([reason, { length }]) => [reason, length]),
    );
    return { kind: 'kept', node, object, byReason };
  });

function became({ node, object, rule, result }: ObjectResult, name: string): Activity {
  const about = { node, object: object.kind, name };
  switch (result.outcome) {
    case 'removed': {
      const freed = freedSpace(result.measured, result.estimatedBytes);
      return { kind: 'removed', ...about, why: removedBecause(rule), freed };
    }
    case 'not-found':
      return { kind: 'gone-already', ...about };
    case 'refused':
    case 'failed':
      return { kind: 'stayed', ...about, why: result.message, reason: result.reason };
    case 'not-needed':
    case 'not-done':
      return { kind: 'stayed', ...about, why: result.message, reason: result.outcome };
  }
}

/** What a removal freed, as measured or not, beside what was reckoned with. */
export function freedText(freed: FreedSpace, expectedBytes: number | null): string {
  const size = expectedBytes === null ? '' : sizeText(BigInt(expectedBytes));
  if (freed.how === 'measured')
    return `${sizeText(freed.bytes)} freed on ${freed.filesystem} as measured${size && `, ${size} expected`}`;
  return `${NOT_MEASURABLE[freed.why]}${size && `; about ${size} by estimate`}`;
}

const NOT_MEASURABLE: Readonly<Record<Extract<FreedSpace, { how: 'not-measurable' }>['why'], string>> = {
  'no-reading': 'nobody could measure what it freed',
  'filled-meanwhile': 'what it freed is not measurable, since something else filled the disk meanwhile',
};

/** `57 MB`, and what could not be measured beside it, as estimated. */
export function freedSumText({ freedBytes, unmeasured, estimatedBytes }: FreedSums): string {
  const measured = sizeText(freedBytes);
  if (unmeasured === 0) return measured;
  return estimatedBytes === 0n
    ? `${measured}, and more that could not be measured`
    : `${measured}, and about ${sizeText(estimatedBytes)} that could not be measured`;
}

/** What is said of images that hold space, behind their number. */
const OF_IMAGES: Readonly<Record<Exclude<Holder['reason'], 'not-images'>, string>> = {
  'in-use': 'in use',
  pinned: 'pinned by the runtime',
  'too-young': 'younger than the minimum age',
  'kept-by-list': 'that a policy keeps',
  'no-digest': 'without a digest to pull them by',
  'not-ours': 'of containers that Kubernetes did not create',
  'backing-off': 'whose removal failed before',
  'not-believed': 'of which not all was believed',
  waiting: 'that wait for the next round',
  held: 'held by a pause or by the node’s own file',
};

/** What holds the space of a disk, the most first: `14 images in use 7.2 GB, what is no image 2.0 GB`. */
export const holdersText = (holders: readonly Holder[]): string =>
  holders
    .toSorted((a, b) => b.bytes - a.bytes)
    .map((holder) => `${nameOf(holder)} ${sizeText(BigInt(holder.bytes))}`)
    .join(', ');

const nameOf = ({ reason, objects }: Holder): string =>
  reason === 'not-images' ? 'what is no image' : `${counted(objects, 'image')} ${OF_IMAGES[reason]}`;

import { type FreedSpace, freedSpace } from '../../../packages/decision/freed-space.ts';
import { objectsIn } from '../../../packages/decision/inventory-entries.ts';
import { countedAs, keptBecause, removedBecause } from '../../../packages/decision/rule-text.ts';
import type { Decision } from '../../../schemas/events/decision.ts';
import type { FilesystemReading } from '../../../schemas/events/filesystem.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import { isAtBeginning } from '../../../schemas/events/reclaim.ts';
import type { ObjectResult, PressureUnrelieved } from '../../../schemas/events/result.ts';
import type { FleetEvent } from '../../../schemas/events/topics.ts';

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

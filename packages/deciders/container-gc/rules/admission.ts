import type { Verdict } from '../../../../schemas/events/decision.ts';
import type { Facts, Kept } from '../../../decision/conclusion.ts';
import type { OwnRule } from '../../../decision/own-rules.ts';
import type { RemovedRule } from '../../../decision/rule-text.ts';
import type { Aged } from './age.ts';

/** A container or sandbox by its position in the inventory's list. */
export interface Listed extends Aged {
  readonly position: number;
}

/** An object that is to go by a rule, before backoff and the size of a command are asked. */
export interface Selected<Item extends Listed> {
  readonly item: Item;
  readonly rule: RemovedRule;
  readonly facts: Facts;
}

/** How many more objects the command takes, and the rule by which the others wait. */
export interface Room {
  readonly objects: number;
  readonly waitBy: OwnRule;
}

export interface Admission<Item extends Listed> {
  readonly kind: Verdict['kind'];
  /** In the order in which they go. */
  readonly planned: readonly Selected<Item>[];
  /** Of all that were selected, by position. */
  readonly verdicts: ReadonlyMap<number, Verdict>;
}

/**
 * Takes what was selected into the command, as far as there is room. What is withheld counts as done for its limits,
 * so that it costs no other object its place (G14).
 */
export function admit<Item extends Listed>(
  kind: Verdict['kind'],
  selected: readonly Selected<Item>[],
  room: Room,
  withhold: (item: Item) => Kept | undefined,
): Admission<Item> {
  const planned: Selected<Item>[] = [];
  const verdicts = new Map<number, Verdict>();
  for (const candidate of selected) {
    const { item, rule, facts } = candidate;
    const isFull = planned.length >= room.objects;
    const kept = withhold(item) ?? (isFull ? { rule: room.waitBy, facts: {} } : undefined);
    if (!kept) planned.push(candidate);
    verdicts.set(item.position, {
      kind,
      position: item.position,
      ...(kept
        ? { action: 'keep', rule: kept.rule, facts: { ...kept.facts, selectedBy: rule } }
        : { action: 'remove', rule, facts }),
    });
  }
  return { kind, planned, verdicts };
}

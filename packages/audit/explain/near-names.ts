import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { NotFound } from '../../../schemas/reports/explanation.ts';
import { podNamesIn } from '../../archive/inventory-objects.ts';
import { namesIn } from '../../decision/inventory-entries.ts';
import { nearestNames } from '../../text/nearest-name.ts';
import { type AskedName, IS_ASKED_BY_NAME } from './question.ts';

const MOST_NAMES = 5;

/** Whether the name itself is among the names, and what else may have been meant. */
export function namesLike(
  { text, imageTerms }: AskedName,
  names: ReadonlySet<string>,
): Pick<NotFound, 'knownOtherwise' | 'nearNames'> {
  const same = new Set([text, ...imageTerms]);
  const others = new Set([...names].filter((name) => !same.has(name)));
  return { knownOtherwise: others.size < names.size, nearNames: nearNames(text, others) };
}

/** Names that may have been meant: those of which the text is a part, then those that differ little. */
export function nearNames(text: string, names: ReadonlySet<string>): string[] {
  const containing = [...names]
    .filter((name) => name.includes(text))
    .toSorted((a, b) => a.length - b.length || compareText(a, b));
  return [...new Set([...containing.slice(0, MOST_NAMES), ...nearestNames(text, names, MOST_NAMES)])].slice(
    0,
    MOST_NAMES,
  );
}

/** What the objects of an inventory may be asked for by, in short and in full, of the kind that is asked for. */
export function askableNames(inventory: CompleteInventory, { kind }: AskedName): string[] {
  const names = namesIn(inventory);
  const objects = ObjectKind.options.map((one) => ({ one, names: names[one] }));
  return [...objects, { one: 'pod' as const, names: [...podNamesIn(inventory).values()] }]
    .filter(({ one }) => IS_ASKED_BY_NAME[one] && (kind === null || kind === one))
    .flatMap((named) => named.names)
    .flatMap((name) => [name, shortOf(name)]);
}

/** The last part of a path. */
export const shortOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1);

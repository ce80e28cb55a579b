import { namesIn } from '../../../packages/decision/listed-objects.ts';
import { nearestNames } from '../../../packages/text/nearest-name.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { NotFound } from '../../../schemas/reports/explanation.ts';
import type { AskedName } from './question.ts';
import { podNamesIn } from './seen-objects.ts';

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
function nearNames(text: string, names: ReadonlySet<string>): string[] {
  const containing = [...names]
    .filter((name) => name.includes(text))
    .toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1));
  return [...new Set([...containing.slice(0, MOST_NAMES), ...nearestNames(text, names, MOST_NAMES)])].slice(
    0,
    MOST_NAMES,
  );
}

/** What the objects of an inventory may be asked for by, in short and in full, of the kind that is asked for. */
export function askableNames(inventory: CompleteInventory, { kind }: AskedName): string[] {
  const byKind = { ...namesIn(inventory), pod: [...podNamesIn(inventory).values()] };
  return Object.entries(byKind)
    .filter(([one]) => kind === null || kind === one)
    .flatMap(([, names]) => names)
    .flatMap((name) => [name, name.slice(name.lastIndexOf('/') + 1)]);
}

import { countedKind, type ObjectNames } from '../../packages/decision/inventory-entries.ts';
import { sizeText } from '../../packages/text/size-text.ts';
import type { Decision } from '../../schemas/events/decision.ts';

const MOST_NAMES = 3;

/**
 * What a decision means for the node, in one line; `null` where nothing follows from it, or what follows is told by the
 * node itself, or from the policies.
 */
export function decisionLine(decision: Decision, names: ObjectNames | undefined): string | null {
  const { decider, outcome, reason, notBelieved } = decision;
  switch (outcome) {
    case 'commanded':
      return `${decider.name} wants to remove ${choice(decision, names)}`;
    case 'dry-run':
      return `${decider.name} would remove ${choice(decision, names)}, but this is a dry run`;
    case 'no-policy':
      return 'no policy selects this node: everything stays';
    case 'not-believed':
      return `nothing can be decided: ${doubtText(notBelieved)}`;
    case 'too-costly':
      return `${decider.name} removes nothing: ${reason}`;
    case 'no-common-version':
      return `${decider.name} and this node have no version of commands in common: ${reason}`;
    case 'ordered':
    case 'nothing-to-do':
    case 'waits-for-containers':
    case 'unrelieved':
    case 'paused':
    case 'overtaken':
      return null;
  }
}

function doubtText([first, ...others]: Decision['notBelieved']): string {
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return `${first?.message ?? 'what the node reported is not believed'}${more}`;
}

/** `2 images (a, b), about 1.2 GB` */
function choice({ verdicts, estimatedBytes }: Decision, names: ObjectNames | undefined): string {
  const going = Map.groupBy(
    verdicts.filter(({ action }) => action === 'remove'),
    ({ kind }) => kind,
  );
  const groups = [...going].map(([kind, chosen]) => {
    const positions = chosen.map(({ position }) => position);
    return `${countedKind(positions.length, kind)}${listed(positions, names?.[kind])}`;
  });
  return `${groups.join(' and ')}${estimatedBytes > 0 ? `, about ${sizeText(BigInt(estimatedBytes))}` : ''}`;
}

/** ` (a, b and 2 more)`; nothing where nobody knows what they are called. */
function listed(positions: readonly number[], names: readonly string[] = []): string {
  const known = positions.flatMap((position) => names[position] ?? []);
  const shown = known.slice(0, MOST_NAMES);
  if (shown.length === 0) return '';
  const more = positions.length - shown.length;
  return ` (${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
}

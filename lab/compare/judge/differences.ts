import type { RunState } from './state.ts';

/** How one object ended in two runs of one history. */
export interface Difference {
  readonly id: number;
  readonly text: string;
}

export interface Ending {
  readonly side: string;
  readonly state: RunState;
}

/** Objects that ended differently, with how. */
export function differences(one: Ending, other: Ending): readonly Difference[] {
  const ids = [...new Set([...one.state.keys(), ...other.state.keys()])].toSorted((a, b) => a - b);
  return ids.flatMap((id) => {
    const [first, second] = [textOf(one.state, id), textOf(other.state, id)];
    return first === second ? [] : [{ id, text: `o${id}: ${one.side} ${first}; ${other.side} ${second}` }];
  });
}

function textOf(state: RunState, id: number): string {
  const object = state.get(id);
  if (object === undefined) return 'is gone';
  const { kind, place, isDeleting, finalizers, references, says } = object;
  const words = [
    `${kind}${place === null ? '' : ` ${place}`}`,
    ...(isDeleting ? ['being deleted'] : []),
    ...(finalizers.length > 0 ? [`finalizers ${finalizers.join(' ')}`] : []),
    ...references.map((reference) => `-> ${JSON.stringify(reference)}`),
    ...(says === undefined ? [] : [JSON.stringify(says)]),
  ];
  return words.join(', ');
}

/** What the smoke test of mutation runs changes: each fate that a mutant can have is in here. */
const STEPS = ['one', 'two'];

export function countdown(from: number): readonly string[] {
  if (from > STEPS.length) throw new Error('there are not so many steps');
  const told: string[] = [];
  for (let left = from; left > 0; left -= 1) told.push(STEPS[left - 1] ?? 'none');
  return told;
}

export const isLong = (from: number): boolean => from >= 2;

export const nobodyAsks = (from: number): boolean => from === 1;

import { between, evenChoice, type Random } from '../../sim/random.ts';
import { type Weighted, weighted } from './draw-graph.ts';
import type { PlayedObject, Step } from './history.ts';

const FEWEST_DEEDS = 4;
const MOST_DEEDS = 14;

/** What may be done in a burst to objects of one kind, whose ids are their places in the list. */
interface BurstOf<Deed extends string> {
  readonly deeds: Weighted<Deed | 'create'>;
  readonly objects: readonly PlayedObject[];
  /** Adds one to the list. */
  readonly create: () => Step;
  /** No step where it cannot be done to this one. */
  readonly deed: (deed: Deed, id: number) => readonly Step[];
}

/** One thing is done to an object in it: which of two comes first would be a matter of chance. */
export function drawBurst<Deed extends string>(random: Random, of: BurstOf<Deed>): Step[] {
  const touched = new Set<number>();
  return Array.from({ length: between(random, FEWEST_DEEDS, MOST_DEEDS) }).flatMap((): readonly Step[] => {
    const deed = weighted(random, of.deeds);
    if (deed === 'create') {
      const step = of.create();
      touched.add(of.objects.length - 1);
      return [step];
    }
    const object = evenChoice(random, of.objects);
    if (object === undefined || touched.has(object.id)) return [];
    touched.add(object.id);
    return of.deed(deed, object.id);
  });
}

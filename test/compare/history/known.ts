import type { History } from './history.ts';

/** Why a seed ends differently, as somebody found out who looked at it. */
interface Known {
  readonly rule: string;
  readonly why: string;
  /** Objects that may end differently; no others. */
  readonly ids: readonly number[];
}

/** Random histories of owners that hit on what is left to chance, where chance is not even. `docs/how-it-works/compare.md` says more. */
const KNOWN: Readonly<Record<number, Known>> = {
  46: {
    rule: 'B5',
    why: 'o20 waited for dependents once; to kube-controller-manager it does so for ever, and unblocks what it blocks',
    ids: [5, 13],
  },
  89: {
    rule: 'C13',
    why: 'o144 waits for nobody, and goes on before its dependent is looked at',
    ids: [153],
  },
  151: {
    rule: 'C13',
    why: 'o14 waits for nobody, and is gone before its dependent is looked at, which then goes in the background',
    ids: [24],
  },
  188: {
    rule: 'C8',
    why: 'o9 lists o6 twice, and blocks it with the first reference alone; to kube-controller-manager it blocked nobody, so o6 waits for ever',
    ids: [6],
  },
  196: {
    rule: 'C8',
    why: 'o89 lists o85 twice in that way, so o85 waits for ever, and with it o54 and o45',
    ids: [45, 54, 85],
  },
};

/** The history with what is known of it. */
export function withKnown(history: History): History {
  const known = KNOWN[history.seed];
  return known === undefined ? history : { ...history, known };
}

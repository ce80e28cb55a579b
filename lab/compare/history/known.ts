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
  248: {
    rule: 'I10',
    why: 'o122 has waited for its dependents before any of them is made; FleetGC is later, and takes them along',
    ids: [125, 127, 131, 133],
  },
  256: {
    rule: 'C13',
    why: 'o11 waits for o16 alone, and goes on before its other dependent is looked at, which then keeps it as an owner',
    ids: [21],
  },
  258: {
    rule: 'C8',
    why: 'o68 lists o57 twice in that way, so o57 waits for ever, and with it o40',
    ids: [40, 57],
  },
  268: {
    rule: 'I10',
    why: 'o181 has waited for its dependents before the one is made that it has; FleetGC is later, and takes it along',
    ids: [189],
  },
  295: {
    rule: 'I10',
    why: 'o37 has waited for its dependents before the one is made that it has; FleetGC is later, and asks for it to go',
    ids: [95],
  },
  308: {
    rule: 'C13',
    why: 'o223 waits for nobody, and goes on before its dependent is looked at, which then keeps it as an owner',
    ids: [231],
  },
  358: {
    rule: 'I10',
    why: 'o25 has waited for its dependents before any of them is made; FleetGC is later, and takes them along',
    ids: [28, 35, 37],
  },
  391: {
    rule: 'C8',
    why: 'o35 lists o28 twice in that way, so o28 waits for ever',
    ids: [28],
  },
  407: {
    rule: 'B5',
    why: 'o4 waited for dependents once; to kube-controller-manager it does so for ever, and o3 is unblocked as if in a ring',
    ids: [0, 3],
  },
  410: {
    rule: 'E1',
    why: 'o115 is to orphan, and right after that to go in the foreground; kube-controller-manager has let its dependents go by then',
    ids: [117, 122, 126, 132],
  },
  458: {
    rule: 'I10',
    why: 'both owners of o162 are gone before it is made; FleetGC is later, and finds one gone and the other still there',
    ids: [162],
  },
  461: {
    rule: 'I10, C8',
    why: 'o28 goes before o30 is looked at, and in FleetGC after it; and o20 lists o7 and o19 twice, so o19 waits for ever',
    ids: [7, 19, 23, 30, 38],
  },
};

/** The history with what is known of it. */
export function withKnown(history: History): History {
  const known = KNOWN[history.seed];
  return known === undefined ? history : { ...history, known };
}

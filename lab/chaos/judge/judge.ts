import { archived } from './archived.ts';
import { audited } from './audited.ts';
import type { Evidence, Violation } from './evidence.ts';
import { keptByPolicy } from './kept.ts';
import { lost } from './lost.ts';
import { needless } from './needless.ts';
import { unrelieved } from './relief.ts';
import { judgedNodes } from './removals.ts';
import { unsigned } from './signed.ts';
import { twice } from './twice.ts';
import { inUse } from './used.ts';

const INVARIANTS = [keptByPolicy, inUse, needless, twice, lost, unrelieved, unsigned] as const;

/** Everything that the evidence shows to be wrong; none is what a round is for. */
export const judge = (evidence: Evidence): readonly Violation[] => [
  ...judgedNodes(evidence).flatMap((node) => INVARIANTS.flatMap((invariant) => invariant(evidence, node))),
  ...audited(evidence),
  ...archived(evidence),
];

import type { Verdict } from '../../../schemas/decision.ts';
import type { Candidate, Plan } from './plan.ts';
import type { ProtectedImage, Survey } from './survey.ts';

/** What becomes of a candidate; the second argument is its place in the order of removal (D8), counted from 1. */
type Answer = (candidate: Candidate, place: number) => Verdict;

/** One verdict for every image, in the order of the inventory: protected ones stay, the others get `answer`. */
export const verdicts = (surveyed: Survey, answer: Answer): Verdict[] =>
  [
    ...surveyed.protected.map(keptVerdict),
    ...surveyed.candidates.map((candidate, index) => answer(candidate, index + 1)),
  ].sort((a, b) => a.position - b.position);

/** Nothing goes by this inventory. */
export const stays =
  (rule: string): Answer =>
  ({ position }) => ({ position, action: 'keep', rule, facts: {} });

/** Goes if the plan holds it, else waits for a later round. */
export const asPlanned =
  ({ removals, endedBy }: Plan): Answer =>
  ({ position, image }, place) =>
    place <= removals.length
      ? { position, action: 'remove', rule: 'D11', facts: { place, lastUsedMs: image.lastUsedMs } }
      : { position, action: 'keep', rule: endedBy, facts: { place, removed: removals.length } };

const keptVerdict = ({ position, protection: { rule, facts } }: ProtectedImage): Verdict => ({
  position,
  action: 'keep',
  rule,
  facts,
});

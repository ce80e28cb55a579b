import type { Holder, ImageRemoval } from '../../schemas/command.ts';
import type { Verdict } from '../../schemas/decision.ts';
import type { CompleteInventory, Inventory, InventoryImage } from '../../schemas/inventory.ts';
import type { Policy } from '../../schemas/policy.ts';
import { commandOutcome } from '../shared/decision/command-outcome.ts';
import { type Conclusion, NO_VERDICTS, reportedBytes } from '../shared/decision/conclusion.ts';
import { statusDoubts } from '../shared/decision/listing.ts';
import { OWN_RULES } from '../shared/decision/own-rules.ts';
import { imageDoubts } from './rules/doubts.ts';
import { heldBy } from './rules/holders.ts';
import { type Plan, planRemovals } from './rules/plan.ts';
import { type Survey, survey } from './rules/survey.ts';
import { type KeepTurn, type RemoveTurn, turnOf } from './rules/turn.ts';
import { asPlanned, stays, verdicts } from './rules/verdicts.ts';

export const DECIDER = { name: 'image-gc', version: '1' } as const;

export interface ImageConclusion extends Conclusion {
  /** In the order in which they go. They become a command only if the outcome is `commanded`. */
  readonly items: readonly ImageRemoval['items'][number][];
  readonly holders: readonly Holder[];
  /** Bytes available, in decimal digits, where a reclaim ends here above its target. */
  readonly unrelievedAt: string | null;
}

const NO_REMOVAL = { items: [], holders: [], estimatedBytes: 0, unrelievedAt: null } as const;

/**
 * Which images of a node go. By usage that is only in the step `images` of a reclaim; every image is answered for,
 * whatever the outcome.
 */
export function decide(inventory: Inventory, policy: Policy): ImageConclusion {
  if (inventory.status !== 'complete') return notComplete(inventory);
  const surveyed = survey(inventory, policy);
  const turn = turnOf(inventory, policy);
  const notBelieved = [...turn.notBelieved, ...imageDoubts(inventory)];
  const { reclaim } = turn;
  return turn.kind === 'keep'
    ? { ...keepCandidates(surveyed, turn), notBelieved, reclaim }
    : { ...removeCandidates(inventory, policy, surveyed, turn), notBelieved, reclaim };
}

const notComplete = (inventory: Exclude<Inventory, CompleteInventory>): ImageConclusion => ({
  ...NO_REMOVAL,
  outcome: 'not-believed',
  reason: OWN_RULES.P3,
  notBelieved: statusDoubts(inventory),
  verdicts: NO_VERDICTS,
  reclaim: inventory.reclaim,
});

type Answer = Omit<ImageConclusion, 'notBelieved' | 'reclaim'>;

function keepCandidates(surveyed: Survey, turn: KeepTurn): Answer {
  const { outcome, reason, rule, lack } = turn;
  const answer = {
    ...NO_REMOVAL,
    outcome,
    reason,
    verdicts: ofImages(verdicts(surveyed, stays(rule))),
  };
  if (lack === null) return answer;
  const held = heldBy(surveyed, { images: surveyed.candidates, reason: 'not-believed' }, lack.usedBytes);
  return { ...answer, holders: held, unrelievedAt: String(lack.availableBytes) };
}

function removeCandidates(
  inventory: CompleteInventory,
  policy: Policy,
  surveyed: Survey,
  { lack, missing }: RemoveTurn,
): Answer {
  const plan = planRemovals(surveyed.candidates, lack.missingBytes, inventory.images.length);
  const planned = {
    items: plan.removals.map(({ image }) => toItem(image)),
    holders: heldBy(surveyed, { images: plan.waiting, reason: 'waiting' }, lack.usedBytes),
    estimatedBytes: reportedBytes(plan.estimatedBytes),
    verdicts: ofImages(verdicts(surveyed, asPlanned(plan))),
  };
  if (plan.removals.length > 0)
    return { ...planned, unrelievedAt: null, ...commandOutcome(inventory, policy, sentence(plan, missing)) };
  const reason = `${missing}, and no image may go: ${planned.holders.map(holderText).join(', ')}`;
  return { ...planned, outcome: 'unrelieved', reason, unrelievedAt: String(lack.availableBytes) };
}

const ofImages = (images: Verdict[]) => ({ ...NO_VERDICTS, images });

const toItem = ({ id, sizeBytes }: InventoryImage): ImageRemoval['items'][number] => ({
  kind: 'image',
  id,
  sizeBytes,
  rule: 'D11',
});

const sentence = ({ removals, estimatedBytes }: Plan, missing: string): string =>
  `${missing}; ${removals.length} image(s) go, listed with ${estimatedBytes} bytes`;

const holderText = ({ reason, objects, bytes }: Holder): string =>
  reason === 'not-images' ? `${bytes} bytes are not images` : `${objects} ${reason} (${bytes} bytes)`;

import type { Holder, ImageRemoval } from '../../../schemas/events/command.ts';
import type { CompleteInventory, Inventory } from '../../../schemas/events/inventory.ts';
import { isForced, type Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { MAX_DECISION_STEPS, Steps } from '../../../schemas/policy/steps.ts';
import { type Conclusion, commandOutcome, reportedBytes } from '../../decision/conclusion.ts';
import { statusDoubts } from '../../decision/inventory-checks.ts';
import { OWN_RULES } from '../../decision/own-rules.ts';
import { takeForObjects, tooCostlyConclusion, withinSteps } from '../../decision/step-budget.ts';
import { type ImageGcMode, type ImagePlan, planImageCommand } from './plan-images.ts';
import type { Removal } from './rules/candidates.ts';
import { imageDoubts } from './rules/doubts.ts';
import type { KeepingPass, RemovingPass } from './rules/pass.ts';
import { keepNotes } from './rules/protection.ts';
import { type Limited, withinCommand } from './rules/selection.ts';
import { heldBy, verdicts } from './rules/verdicts.ts';

export const DECIDER = { name: 'image-gc', version: '1' } as const;

export interface ImageConclusion extends Conclusion {
  /** In the order in which they go. They become a command only if the outcome is `commanded`. */
  readonly items: readonly ImageRemoval['items'][number][];
  readonly holders: readonly Holder[];
  /** Bytes available or inodes free, in decimal digits, where a reclaim ends here above its target. */
  readonly unrelievedAt: string | null;
}

/**
 * Which images of a node go: in a reclaim at its step `images` those that make room; those that were unused for too long
 * without a reclaim, and in one that never comes to images. Every image is answered for, whatever the outcome.
 */
export function decide(
  inventory: Inventory,
  policy: Policy,
  budget = new Steps(MAX_DECISION_STEPS),
): ImageConclusion {
  if (inventory.status !== 'complete') return notComplete(inventory);
  return withinSteps(
    (steps) => decideComplete(inventory, policy, steps),
    () => tooCostly(inventory),
    budget,
  );
}

function decideComplete(inventory: CompleteInventory, policy: Policy, steps: Steps): ImageConclusion {
  takeForObjects(inventory, steps);
  const plan = planImageCommand(inventory, policy, modeOf(inventory.reclaim), steps);
  const limited = withinCommand(plan.removals, inventory.images.length);
  const { pass, eligibility, spared } = plan;
  const reported = {
    reclaim: pass.reclaim,
    notBelieved: [...pass.notBelieved, ...imageDoubts(inventory, policy, eligibility)],
    notes: keepNotes(inventory, policy.keep, eligibility.matcher),
    verdicts: verdicts({
      removals: limited.commanded,
      spared: [...spared, ...limited.later],
      protected: eligibility.protected,
    }),
  };
  return pass.kind === 'keep'
    ? { ...reported, ...keeping(plan, pass) }
    : { ...reported, ...removing(inventory, policy, { plan, pass, limited }) };
}

function modeOf(reclaim: Reclaim | null): Exclude<ImageGcMode, 'periodic'> {
  if (reclaim === null || !reclaim.actions.includes('images')) return 'age';
  return isForced(reclaim) ? 'forced' : 'usage';
}

const NO_REMOVAL = { items: [], holders: [], estimatedBytes: 0, unrelievedAt: null } as const;

const notComplete = (inventory: Exclude<Inventory, CompleteInventory>): ImageConclusion => ({
  ...NO_REMOVAL,
  outcome: 'not-believed',
  reason: OWN_RULES.P3,
  notBelieved: statusDoubts(inventory),
  verdicts: [],
  reclaim: inventory.reclaim,
});

const tooCostly = (inventory: CompleteInventory): ImageConclusion => ({
  ...NO_REMOVAL,
  ...tooCostlyConclusion(inventory, 'image-removal'),
});

type Answer = Pick<
  ImageConclusion,
  'outcome' | 'reason' | 'items' | 'holders' | 'estimatedBytes' | 'unrelievedAt'
>;

function keeping({ eligibility, spared }: ImagePlan, { outcome, reason, lack }: KeepingPass): Answer {
  if (lack === null) return { ...NO_REMOVAL, outcome, reason };
  const holders = heldBy(eligibility, { images: spared, reason: 'not-believed' }, lack.usedBytes);
  return { ...NO_REMOVAL, outcome, reason, holders, unrelievedAt: String(lack.availableNow) };
}

function removing(
  inventory: CompleteInventory,
  policy: Policy,
  { plan, pass, limited }: { plan: ImagePlan; pass: RemovingPass; limited: Limited },
): Answer {
  const { lack, why } = pass;
  const waiting = [...limited.later, ...plan.spared];
  const planned = {
    items: limited.commanded.map(toItem),
    holders:
      lack === null ? [] : heldBy(plan.eligibility, { images: waiting, reason: 'waiting' }, lack.usedBytes),
    estimatedBytes: reportedBytes(limited.estimatedBytes),
    unrelievedAt: null,
  };
  return planned.items.length > 0
    ? { ...planned, ...commandOutcome(inventory, policy, sentence(limited, why)) }
    : { ...planned, ...nothingGoes(pass, planned.holders) };
}

function nothingGoes(
  { lack, why }: RemovingPass,
  holders: readonly Holder[],
): Pick<Answer, 'outcome' | 'reason' | 'unrelievedAt'> {
  if (lack === null || lack.missing <= 0n)
    return { outcome: 'nothing-to-do', reason: `${why}: there is none`, unrelievedAt: null };
  const reason = `${why}, and no image may go: ${holders.map(holderText).join(', ')}`;
  return { outcome: 'unrelieved', reason, unrelievedAt: String(lack.availableNow) };
}

const toItem = ({
  image: { id, sizeBytes },
  rule,
  estimatedBytes,
}: Removal): ImageRemoval['items'][number] => ({
  kind: 'image',
  id,
  sizeBytes,
  estimatedBytes: reportedBytes(estimatedBytes),
  rule,
});

const sentence = ({ commanded, later, estimatedBytes }: Limited, why: string): string => {
  const rest = later.length === 0 ? '' : `, ${later.length} more wait`;
  return `${why}; ${commanded.length} image(s) go, counted with ${estimatedBytes} bytes${rest}`;
};

const holderText = ({ reason, objects, bytes }: Holder): string =>
  reason === 'not-images' ? `${bytes} bytes are not images` : `${objects} ${reason} (${bytes} bytes)`;

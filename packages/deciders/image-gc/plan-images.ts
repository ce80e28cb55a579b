import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { MAX_DECISION_STEPS, Steps } from '../../../schemas/policy/steps.ts';
import { agePass } from './rules/age-pass.ts';
import { type Eligibility, eligibilityOf, without } from './rules/candidates.ts';
import { freeing } from './rules/contents.ts';
import type { ImagePass } from './rules/pass.ts';
import { type Selection, select, spare } from './rules/selection.ts';
import { spacePass } from './rules/space-pass.ts';

/**
 * `age`: what was unused for too long (E). `usage`: what makes room when a threshold of image GC is met (D). `forced`: what
 * an eviction signal makes go (F). `periodic`: one pass of the kubelet, by age and then by usage (D3).
 */
export type ImageGcMode = 'age' | 'usage' | 'forced' | 'periodic';

/** Which images of a node would go, and why the others stay; limits of a command (P4, P5) are not applied. */
export interface ImagePlan extends Selection {
  readonly eligibility: Eligibility;
  readonly pass: ImagePass;
}

/**
 * Plans for one inventory under one policy, each removal assumed to succeed. `usage` and `forced` aim for the target of the
 * inventory's reclaim; without a reclaim the policy's own thresholds decide, and `forced` aims for the low threshold, or in
 * the kubelet's profile for nothing: every eligible image goes (J22). Throws `TooCostly` beyond the steps that it may take.
 */
export const planImages = (
  inventory: CompleteInventory,
  policy: Policy,
  mode: ImageGcMode,
  steps = new Steps(MAX_DECISION_STEPS),
): ImagePlan =>
  mode === 'periodic'
    ? planPass({ ...inventory, reclaim: null }, policy, steps)
    : planOfMode(inventory, policy, { mode, isForCommand: false, steps });

/** As `planImages`, for a node that is to do it: what failed lately is left out, so that it costs no other its place (M17). */
export const planImageCommand = (
  inventory: CompleteInventory,
  policy: Policy,
  mode: PassMode,
  steps = new Steps(MAX_DECISION_STEPS),
): ImagePlan => planOfMode(inventory, policy, { mode, isForCommand: true, steps });

type PassMode = Exclude<ImageGcMode, 'periodic'>;

function planOfMode(
  inventory: CompleteInventory,
  policy: Policy,
  { mode, ...purpose }: { readonly mode: PassMode; readonly isForCommand: boolean; readonly steps: Steps },
): ImagePlan {
  const { isForCommand } = purpose;
  return mode === 'age'
    ? planned(eligibilityOf(inventory, policy, { step: 'age', ...purpose }), agePass(inventory, policy))
    : planned(
        eligibilityOf(inventory, policy, { step: 'space', ...purpose }),
        spacePass(inventory, policy, { mode, isForCommand }),
      );
}

/** Without a maximum age none goes by age (E1), which is known without looking at all of them again. */
function planPass(inventory: CompleteInventory, policy: Policy, steps: Steps): ImagePlan {
  const byAge = policy.imageMaximumGCAgeMs === 0 ? [] : planImages(inventory, policy, 'age', steps).removals;
  const gone = byAge.map(({ position }) => position);
  const eligibility = eligibilityOf(inventory, policy, { step: 'space', isForCommand: false, steps });
  const byUsage = planned(
    without(eligibility, new Set(gone)),
    spacePass(inventory, policy, { mode: 'usage', isForCommand: false }),
    gone,
  );
  return { ...byUsage, removals: [...byAge, ...byUsage.removals] };
}

/** `gone` are the positions of images that go before. */
function planned(eligibility: Eligibility, pass: ImagePass, gone: readonly number[] = []): ImagePlan {
  if (pass.kind === 'remove') {
    const free = freeing(eligibility.contents);
    gone.forEach(free);
    return { ...select(eligibility.candidates, pass.goal, free), eligibility, pass };
  }
  const spared = eligibility.candidates.map((candidate) => spare(candidate, pass.rule, {}));
  return { removals: [], spared, eligibility, pass };
}

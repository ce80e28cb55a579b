import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import type { Policy } from '../../schemas/policy/policy.ts';
import { ageTurn } from './rules/age-turn.ts';
import { freeing } from './rules/contents.ts';
import { type Selection, select, spare } from './rules/selection.ts';
import { spaceTurn } from './rules/space-turn.ts';
import { type Survey, survey, without } from './rules/survey.ts';
import type { Turn } from './rules/turn.ts';

/**
 * `age`: what was unused for too long (E). `usage`: what makes room when a threshold of image GC is met (D). `forced`: what
 * an eviction signal makes go (F). `periodic`: one pass of the kubelet, by age and then by usage (D3).
 */
export type ImageGcMode = 'age' | 'usage' | 'forced' | 'periodic';

/** Which images of a node would go, and why the others stay; limits of a command (P4, P5) are not applied. */
export interface ImagePlan extends Selection {
  readonly surveyed: Survey;
  readonly turn: Turn;
}

/**
 * Plans for one inventory under one policy, each removal assumed to succeed. `usage` and `forced` aim for the target of the
 * inventory's reclaim; without a reclaim the policy's own thresholds decide, and `forced` aims for the low threshold, or in
 * the kubelet's profile for nothing: every eligible image goes (J22).
 */
export const planImages = (inventory: CompleteInventory, policy: Policy, mode: ImageGcMode): ImagePlan =>
  mode === 'periodic'
    ? planPass({ ...inventory, reclaim: null }, policy)
    : planTurn(inventory, policy, { mode, isForCommand: false });

/** As `planImages`, for a node that is to do it: what failed lately is left out, so that it costs no other its place (M17). */
export const planImageCommand = (inventory: CompleteInventory, policy: Policy, mode: TurnMode): ImagePlan =>
  planTurn(inventory, policy, { mode, isForCommand: true });

type TurnMode = Exclude<ImageGcMode, 'periodic'>;

function planTurn(
  inventory: CompleteInventory,
  policy: Policy,
  { mode, isForCommand }: { readonly mode: TurnMode; readonly isForCommand: boolean },
): ImagePlan {
  return mode === 'age'
    ? planned(survey(inventory, policy, { step: 'age', isForCommand }), ageTurn(inventory, policy))
    : planned(
        survey(inventory, policy, { step: 'space', isForCommand }),
        spaceTurn(inventory, policy, { mode, isForCommand }),
      );
}

/** Without a maximum age none goes by age (E1), which is known without another survey. */
function planPass(inventory: CompleteInventory, policy: Policy): ImagePlan {
  const byAge = policy.imageMaximumGCAgeMs === 0 ? [] : planImages(inventory, policy, 'age').removals;
  const gone = byAge.map(({ position }) => position);
  const surveyed = survey(inventory, policy, { step: 'space', isForCommand: false });
  const byUsage = planned(
    without(surveyed, new Set(gone)),
    spaceTurn(inventory, policy, { mode: 'usage', isForCommand: false }),
    gone,
  );
  return { ...byUsage, removals: [...byAge, ...byUsage.removals] };
}

/** `gone` are the positions of images that go before. */
function planned(surveyed: Survey, turn: Turn, gone: readonly number[] = []): ImagePlan {
  if (turn.kind === 'remove') {
    const free = freeing(surveyed.contents);
    gone.forEach(free);
    return { ...select(surveyed.candidates, turn.goal, free), surveyed, turn };
  }
  const spared = surveyed.candidates.map((candidate) => spare(candidate, turn.rule, {}));
  return { removals: [], spared, surveyed, turn };
}

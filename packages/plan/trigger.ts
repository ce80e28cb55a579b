import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import type { Reclaim, ReclaimAction } from '../../schemas/events/reclaim.ts';
import { EvictionSignal } from '../../schemas/policy/eviction.ts';
import type { Policy } from '../../schemas/policy/policy.ts';
import type { PlanTrigger } from '../../schemas/reports/plan.ts';
import type { ImageGcMode } from '../deciders/image-gc/plan-images.ts';
import { assumedMet, FORCED_GC_OFF } from '../deciders/pressure/rules/eviction.ts';
import type { Doubt } from '../decision/conclusion.ts';
import type { KeptRule } from '../decision/rule-text.ts';
import { thresholdsInForce } from '../decision/thresholds/eviction-signals.ts';
import { layoutOf } from '../decision/thresholds/filesystem-usage.ts';

/** What is to be gone through, and how. */
export interface Order {
  readonly kind: 'order';
  readonly actions: readonly ReclaimAction[];
  /** Whether containers of pods go that have only ended (G2). */
  readonly evictNonDeletedPods: boolean;
  readonly imageMode: Extract<ImageGcMode, 'periodic' | 'forced'>;
  /** What the images aim for; `null`: what the policy alone says. */
  readonly reclaim: Reclaim | null;
  /** Why, as the beginning of a sentence; empty where there is nothing to say. */
  readonly reason: string;
}

export type SingleTrigger = Exclude<PlanTrigger, 'all'>;

export type Ordered =
  | Order
  /** The trigger removes nothing, whatever there is. */
  | {
      readonly kind: 'nothing';
      readonly rule: KeptRule;
      readonly reason: string;
      readonly notBelieved: readonly Doubt[];
    };

const PERIODIC: Order = {
  kind: 'order',
  actions: ['containers', 'images'],
  evictNonDeletedPods: false,
  imageMode: 'periodic',
  reclaim: null,
  reason: '',
};

const FORCED: Order = { ...PERIODIC, evictNonDeletedPods: true, imageMode: 'forced' };

/** What a trigger makes of this node under this policy. The disks decide nothing here but the layout (J5). */
export function ordered(trigger: SingleTrigger, inventory: CompleteInventory, policy: Policy): Ordered {
  const signal = SIGNALS.get(trigger);
  if (signal !== undefined) return bySignal(signal, inventory, policy);
  if (trigger === 'periodic') return PERIODIC;
  return policy.forcedGC ? FORCED : { kind: 'nothing', rule: 'M16', reason: FORCED_GC_OFF, notBelieved: [] };
}

/** All that may remove something from the node under this policy: what happens by itself, and each eviction signal with a threshold. */
export function triggersFor({ filesystems }: CompleteInventory, policy: Policy): readonly SingleTrigger[] {
  const layout = layoutOf(filesystems);
  const thresholds =
    layout === null ? policy.evictionThresholds : thresholdsInForce(policy.evictionThresholds, layout);
  const signals = new Set(policy.forcedGC ? thresholds.map(({ signal }) => signal) : []);
  return ['periodic', ...EvictionSignal.options.filter((signal) => signals.has(signal)).map(bySignalName)];
}

const bySignalName = (signal: EvictionSignal): SingleTrigger => `eviction:${signal}`;

const SIGNALS: ReadonlyMap<string, EvictionSignal> = new Map(
  EvictionSignal.options.map((signal) => [`eviction:${signal}`, signal]),
);

function bySignal(signal: EvictionSignal, inventory: CompleteInventory, policy: Policy): Ordered {
  const assumed = assumedMet(signal, inventory, policy);
  switch (assumed.kind) {
    case 'nothing':
      return { ...assumed, notBelieved: [] };
    case 'doubt': {
      const { rule, message } = assumed.doubt;
      return { kind: 'nothing', rule, reason: message, notBelieved: [assumed.doubt] };
    }
    case 'met': {
      const { cause, target, actions, reason } = assumed;
      const reclaim: Reclaim = { id: 'plan', cause, target, actions, step: 'images', round: 1 };
      return { ...FORCED, actions, reclaim: actions.includes('images') ? reclaim : null, reason };
    }
  }
}

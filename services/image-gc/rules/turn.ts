import type { CompleteInventory } from '../../../schemas/inventory.ts';
import type { Doubt } from '../../shared/decision/conclusion.ts';
import { believeUsage } from '../../shared/decision/filesystem-usage.ts';
import { OWN_RULES } from '../../shared/decision/own-rules.ts';
import { nodeDoubts } from './doubts.ts';
import { type Shortfall, shortfall } from './shortfall.ts';

export type KnownShortfall = Extract<Shortfall, { kind: 'known' }>;

/** Whether this inventory is one on which images may go. */
export type Turn =
  | { readonly kind: 'remove'; readonly lack: KnownShortfall; readonly notBelieved: readonly Doubt[] }
  | {
      readonly kind: 'keep';
      readonly outcome: 'nothing-to-do' | 'waits-for-containers' | 'not-believed';
      /** Why images stay that nothing else protects. */
      readonly rule: string;
      readonly reason: string;
      readonly notBelieved: readonly Doubt[];
      /** Set when a reclaim ends here above its target. */
      readonly lack: KnownShortfall | null;
    };

export function turnOf(inventory: CompleteInventory): Turn {
  const { reclaim, filesystems } = inventory;
  const measured = reclaim
    ? shortfall(inventory, reclaim.target)
    : believeUsage('imagefs', filesystems.imagefs);
  const notBelieved = [...nodeDoubts(inventory), ...(measured.kind === 'doubt' ? [measured.doubt] : [])];
  const keep = { kind: 'keep', notBelieved, lack: null } as const;
  if (reclaim?.step === 'containers') {
    const reason = `${OWN_RULES.P6}; this one is at its step "containers"`;
    return { ...keep, outcome: 'waits-for-containers', rule: 'P6', reason };
  }
  const [doubt] = notBelieved;
  if (doubt) {
    const reason = notBelieved.map(({ message }) => message).join('; ');
    return { ...keep, outcome: 'not-believed', rule: doubt.rule, reason, lack: unmet(measured) };
  }
  if (measured.kind !== 'known')
    return { ...keep, outcome: 'nothing-to-do', rule: 'P6', reason: `${OWN_RULES.P6}; none is under way` };
  if (measured.missingBytes > 0n) return { kind: 'remove', lack: measured, notBelieved };
  const reason = `the target is reached: ${measured.availableBytes} bytes are available`;
  return { ...keep, outcome: 'nothing-to-do', rule: 'D12', reason };
}

function unmet(measured: ReturnType<typeof believeUsage> | Shortfall): KnownShortfall | null {
  return measured.kind === 'known' && measured.missingBytes > 0n ? measured : null;
}

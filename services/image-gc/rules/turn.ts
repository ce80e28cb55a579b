import type { CompleteInventory } from '../../../schemas/inventory.ts';
import type { Policy } from '../../../schemas/policy.ts';
import type { Reclaim } from '../../../schemas/reclaim.ts';
import type { Doubt } from '../../shared/decision/conclusion.ts';
import { believeUsage } from '../../shared/decision/filesystem-usage.ts';
import { OWN_RULES } from '../../shared/decision/own-rules.ts';
import { nodeDoubts } from './doubts.ts';
import { type Shortfall, shortfall } from './shortfall.ts';
import { type Wanted, wantedNow } from './wanted.ts';

export type KnownShortfall = Extract<Shortfall, { kind: 'known' }>;

/** Whether this inventory is one on which images may go. */
export type Turn = {
  /** As ordered, or with the smaller target that the policy in force asks for. */
  readonly reclaim: Reclaim | null;
  readonly notBelieved: readonly Doubt[];
} & (RemoveTurn | KeepTurn);

export interface RemoveTurn {
  readonly kind: 'remove';
  readonly lack: KnownShortfall;
  /** Which target is missed, for people. */
  readonly missing: string;
}

export interface KeepTurn {
  readonly kind: 'keep';
  readonly outcome: 'nothing-to-do' | 'waits-for-containers' | 'not-believed';
  /** Why images stay that nothing else protects. */
  readonly rule: string;
  readonly reason: string;
  /** Set when a reclaim ends here above its target. */
  readonly lack: KnownShortfall | null;
}

export function turnOf(inventory: CompleteInventory, policy: Policy): Turn {
  const { reclaim: ordered, filesystems } = inventory;
  const wanted = ordered && wantedNow(ordered, filesystems.imagefs, policy);
  const measured = wanted
    ? shortfall(inventory, wanted.reclaim.target)
    : believeUsage('imagefs', filesystems.imagefs);
  const notBelieved = [...nodeDoubts(inventory), ...(measured.kind === 'doubt' ? [measured.doubt] : [])];
  const turn = keepsAll(wanted, notBelieved, measured) ?? byMeasure(measured, wanted?.shrunk ?? null);
  return { ...turn, notBelieved, reclaim: wanted?.reclaim ?? null };
}

type Measured = ReturnType<typeof believeUsage> | Shortfall;

/** What keeps every image, whatever is missing to the target. */
function keepsAll(
  wanted: Wanted | null,
  notBelieved: readonly Doubt[],
  measured: Measured,
): KeepTurn | undefined {
  const keep = { kind: 'keep', outcome: 'nothing-to-do', lack: null } as const;
  if (wanted?.reclaim.step === 'containers') {
    const reason = `${OWN_RULES.P6}; this one is at its step "containers"`;
    return { ...keep, outcome: 'waits-for-containers', rule: 'P6', reason };
  }
  if (wanted?.unwanted) return { ...keep, ...wanted.unwanted };
  const [doubt] = notBelieved;
  if (!doubt) return undefined;
  const reason = notBelieved.map(({ message }) => message).join('; ');
  return { ...keep, outcome: 'not-believed', rule: doubt.rule, reason, lack: unmet(measured) };
}

function byMeasure(measured: Measured, shrunk: string | null): RemoveTurn | KeepTurn {
  const keep = { kind: 'keep', outcome: 'nothing-to-do', lack: null } as const;
  if (measured.kind !== 'known') return { ...keep, rule: 'P6', reason: `${OWN_RULES.P6}; none is under way` };
  const because = shrunk === null ? '' : `${shrunk}; `;
  if (measured.missingBytes > 0n) {
    const missing = `${because}${measured.missingBytes} bytes are missing to the target`;
    return { kind: 'remove', lack: measured, missing };
  }
  const reason = `${because}the target is reached: ${measured.availableBytes} bytes are available`;
  return { ...keep, rule: 'D12', reason };
}

function unmet(measured: Measured): KnownShortfall | null {
  return measured.kind === 'known' && measured.missingBytes > 0n ? measured : null;
}

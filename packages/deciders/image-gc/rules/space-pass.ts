import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { OWN_RULES } from '../../../decision/own-rules.ts';
import { type Wanted, wantedNow } from '../../../decision/thresholds/wanted-reclaim.ts';
import { nodeDoubts } from './doubts.ts';
import {
  doubtfulPass,
  type ImagePass,
  type KeepingPass,
  type KnownShortfall,
  keepingPass,
  type RemovingPass,
} from './pass.ts';
import { type Aim, orderedAim, ownAim, type SpaceMode, shortfall } from './space-target.ts';

/** Why room is made, and whether it is done: a plan that somebody asks for assumes that a signal forces it, whatever the disk says. */
interface MakingRoom {
  readonly mode: SpaceMode;
  readonly isForCommand: boolean;
}

/** Removal to make room: for the reclaim that the inventory answers, or without one as the policy alone says. */
export function spacePass(
  inventory: CompleteInventory,
  policy: Policy,
  { mode, isForCommand }: MakingRoom,
): ImagePass {
  const wanted = inventory.reclaim && wantedNow(inventory.reclaim, inventory.filesystems, policy);
  const aim = wanted ? orderedAim(wanted, inventory, policy, mode) : ownAim(inventory, policy, mode);
  const measured = measure(aim, inventory);
  const notBelieved = [
    ...nodeDoubts(inventory, policy),
    ...(measured.kind === 'doubt' ? [measured.doubt] : []),
  ];
  // The kubelet forces its pass while the signal is met, of which an order alone is no proof (J22).
  const takesAll = mode === 'forced' && policy.profile === 'kubelet' && (wanted?.isPressed || !isForCommand);
  const pass =
    notForImages(wanted) ?? doubtfulPass(notBelieved, unmet(measured)) ?? aimedPass(measured, takesAll);
  return { ...pass, notBelieved, reclaim: wanted?.reclaim ?? null };
}

type Measured =
  | Exclude<Aim, { kind: 'target' }>
  | (Extract<Aim, { kind: 'target' }> & { readonly lack: KnownShortfall });

function measure(aim: Aim, inventory: CompleteInventory): Measured {
  if (aim.kind !== 'target') return aim;
  const lack = shortfall(inventory, aim.target);
  return lack.kind === 'doubt' ? lack : { ...aim, lack };
}

function notForImages(wanted: Wanted | null): KeepingPass | undefined {
  if (wanted?.reclaim.step === 'containers')
    return keepingPass('P6', `${OWN_RULES.P6}; this one is at its step "containers"`, 'waits-for-containers');
  return wanted?.unwanted ? keepingPass(wanted.unwanted.rule, wanted.unwanted.reason) : undefined;
}

const unmet = (measured: Measured): KnownShortfall | null =>
  measured.kind === 'target' && measured.lack.missing > 0n ? measured.lack : null;

function aimedPass(measured: Measured, takesAll: boolean): RemovingPass | KeepingPass {
  switch (measured.kind) {
    case 'keep':
      return measured.pass;
    case 'doubt':
      return keepingPass(measured.doubt.rule, measured.doubt.message, 'not-believed');
    case 'everything':
      return { ...EVERYTHING, lack: null };
    case 'target':
      return takesAll ? { ...EVERYTHING, lack: measured.lack } : towards(measured);
  }
}

const EVERYTHING = {
  kind: 'remove',
  goal: { kind: 'none' },
  why: 'forced: every image goes that nothing protects',
} as const;

function towards({
  lack,
  because,
  oneAtLeast,
}: Extract<Measured, { kind: 'target' }>): RemovingPass | KeepingPass {
  const { missing, availableNow, resource } = lack;
  const isBytes = resource === 'availableBytes';
  // The kubelet, who takes one at least, knows no target in inodes (D13, M13).
  if (missing <= 0n && !(oneAtLeast && isBytes)) {
    const reached = isBytes ? `${availableNow} bytes are available` : `${availableNow} inodes are free`;
    return keepingPass('D12', `${because}the target is reached: ${reached}`);
  }
  return isBytes ? forBytes(lack, because, oneAtLeast) : forInodes(lack, because);
}

const forBytes = (lack: KnownShortfall, because: string, oneAtLeast: boolean): RemovingPass => ({
  kind: 'remove',
  goal: { kind: 'bytes', missing: lack.missing, oneAtLeast },
  lack,
  why: `${because}${lack.missing} bytes are missing to the target`,
});

/** Sizes do not tell how many inodes an image frees (M13). */
const forInodes = (lack: KnownShortfall, because: string): RemovingPass => ({
  kind: 'remove',
  goal: { kind: 'none' },
  lack,
  why: `${because}${lack.missing} inodes are missing to the target; sizes do not tell which images free them, so they go in order until the node measures that it is enough`,
});

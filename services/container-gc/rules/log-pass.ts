import type { Facts, Kept } from '../../../packages/decision/conclusion.ts';
import type { CompleteInventory, InventoryPodLogDirectory } from '../../../schemas/events/inventory.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import type { Room } from './admission.ts';

/** What the entries of the log directories are judged by. */
export interface LogPass {
  readonly inventory: CompleteInventory;
  readonly policy: Policy;
  /** UIDs of pods whose content is removable, none before all sources have delivered (I1, I3). */
  readonly removable: ReadonlySet<string>;
  /** UIDs of pods that are gone, which the executor asks about again. */
  readonly gone: ReadonlySet<string>;
  /** Ids of containers that go in this pass, with their symlinks (G22). */
  readonly plannedContainers: ReadonlySet<string>;
  readonly room: Room;
  readonly withhold: (entry: Pick<InventoryPodLogDirectory, 'name' | 'backoff'>) => Kept | undefined;
}

/** What is to become of one entry of a log directory, and by which rule. */
export interface Judged {
  readonly action: 'remove' | 'keep';
  readonly rule: string;
  readonly facts: Facts;
}

/** The same with the entry. */
export type JudgedEntry<Entry> = Judged & { readonly entry: Entry };

export const kept = (rule: string, facts: Facts): Judged => ({ action: 'keep', rule, facts });

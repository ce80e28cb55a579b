import type { ContainerdMethodName } from '../../../packages/cri/containerd/server.ts';
import type { CriMethodName } from '../../../packages/cri/server.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';

/**
 * How a call goes wrong. `hang`: it waits until `release` or `clear`, and then goes on; `half`: a list comes without its
 * second half, as if that were all.
 */
export type CallFault =
  | { readonly kind: 'hang' }
  | { readonly kind: 'half' }
  | { readonly kind: 'error'; readonly message: string };

export type FaultyMethod = CriMethodName | ContainerdMethodName;

/** What goes wrong on a simulated node; changed while it runs. */
export interface Faults {
  /** The next `times` calls of `method` go wrong so. */
  onCall(method: FaultyMethod, fault: CallFault, times?: number): void;
  /** Runs `change` once, when the next call of `method` has its answer and before the caller gets it. */
  afterCall(method: FaultyMethod, change: () => unknown): void;
  /** Image ids whose removal is reported as done and not done. */
  readonly keptImages: Set<string>;
  /** Ids of images, containers and sandboxes whose removal fails, with the message. */
  readonly refusedRemovals: Map<string, string>;
  /** How long after a removal its bytes become available. */
  freeLateMs: number;
  filesystemsUnreadable: boolean;
  podsUnreadable: boolean;
  /** Calls that hang now. */
  hanging(): number;
  /** Lets hanging calls go on. */
  release(): void;
  /** Everything is well again. */
  clear(): void;
  /** For the simulated runtime: what is wrong with this call. Resolves when the call may go on. */
  meet(method: FaultyMethod): Promise<CallFault | undefined>;
  /** For the simulated runtime: the call was answered. */
  answered(method: FaultyMethod): Promise<void>;
}

export function createFaults(): Faults {
  const calls = new Map<FaultyMethod, { readonly fault: CallFault; left: number }>();
  const changes = new Map<FaultyMethod, () => unknown>();
  const waiting = new Set<() => void>();
  const hang = () => new Promise<void>((resolve) => waiting.add(resolve));
  return {
    onCall: (method, fault, times = Number.POSITIVE_INFINITY) => calls.set(method, { fault, left: times }),
    afterCall: (method, change) => changes.set(method, change),
    keptImages: new Set(),
    refusedRemovals: new Map(),
    freeLateMs: 0,
    filesystemsUnreadable: false,
    podsUnreadable: false,
    hanging: () => waiting.size,
    release: () => {
      for (const goOn of waiting) goOn();
      waiting.clear();
    },
    clear() {
      this.release();
      calls.clear();
      changes.clear();
      this.keptImages.clear();
      this.refusedRemovals.clear();
      this.freeLateMs = 0;
      this.filesystemsUnreadable = false;
      this.podsUnreadable = false;
    },
    meet: async (method) => {
      const entry = calls.get(method);
      if (!entry || entry.left <= 0) return undefined;
      entry.left -= 1;
      if (entry.fault.kind === 'hang') await hang();
      return entry.fault;
    },
    answered: async (method) => {
      const change = changes.get(method);
      changes.delete(method);
      await change?.();
    },
  };
}

/** Throws when the removal of `id` is to fail. */
export function refuseRemoval(faults: Faults, id: string): void {
  const message = faults.refusedRemovals.get(id);
  if (message !== undefined) throw new FleetGcError('RUNTIME_FAILED', message);
}

import type { CriServer } from '../../../packages/cri/server.ts';
import type { PodManifest } from '../../sim/kubelet.ts';
import type { Faults } from '../../sim/runtime/faults.ts';
import type { RemovalFaults } from './removal-faults.ts';

/** A runtime with its own truth, whatever it is made of, and the life on it. */
export interface ChaosNode {
  readonly kubelet: LivelyKubelet;
  readonly faults: Faults;
  readonly removalFaults: RemovalFaults;
  readonly disk: ChaosDisk;
  /** How many different images its deployments have, but for those that a policy keeps. */
  readonly differentImages: number;
  /** References of the images that are there and may be unused. */
  imageNames(): Promise<readonly string[]>;
  /** So many kept images with names that nobody has seen come, and those that came before go. Throws on a real runtime. */
  exchangeStrangers(images: number): void;
  /** Serves the socket by which agent and executor know the runtime. */
  serve(): Promise<CriServer>;
}

/** What a life wants of a kubelet. */
export interface LivelyKubelet {
  /** Pulls what is missing and runs the pod's containers. */
  startPod(manifest: PodManifest): Promise<unknown>;
  /** Ends the running containers of the pod, as a crash does. */
  crashPod(uid: string): Promise<void> | void;
  /** Creates and starts the next attempt of every container of the pod that is not running. */
  restartContainers(uid: string): Promise<void>;
  /** Stops the pod, forgets it, and collects its containers, sandboxes and logs itself. */
  cleanUpPod(uid: string): Promise<void>;
  readonly pods: ReadonlyMap<string, { readonly uid: string; readonly phase: string }>;
}

/**
 * What else lies on a disk. Without it images alone are below every threshold: whoever removes on after somebody else freed
 * the disk is seen.
 */
export const USUAL_OTHER_PERCENT = 25n;

/** The disk of a node, on which something else lies beside images and containers. */
export interface ChaosDisk {
  readonly capacityBytes: bigint;
  /** What that something takes. */
  otherBytes: bigint;
  /** The same, when nothing is wrong. */
  readonly usualBytes: bigint;
  /** All that is used now. */
  usedBytes(): bigint;
  /** Makes the disk as full as it should be, and writes down how full it is; to be called when it may have changed. */
  weigh(): void;
}

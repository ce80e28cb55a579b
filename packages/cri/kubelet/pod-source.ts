/** One pod as the kubelet knows it. */
export interface KubeletPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** `status.phase`: Pending, Running, Succeeded, Failed or Unknown; empty when not yet reported. */
  readonly phase: string;
  /** Whether `metadata.deletionTimestamp` is set. */
  readonly deletionTimestamp: boolean;
  /** Annotation `kubernetes.io/config.source`: `api`, `file` or `http`; empty when missing. */
  readonly source: string;
  /** Image references of all its containers, init and ephemeral ones and image volumes included, as written. */
  readonly images: readonly string[];
  /** Names of its init containers. */
  readonly initContainers: readonly string[];
  /** All its containers have stopped for good: phase Succeeded or Failed. */
  readonly finished: boolean;
  /** The kubelet evicted it: `status.reason`. */
  readonly evicted: boolean;
}

/** One good answer of the kubelet. */
export interface PodListing {
  /** Differs between kubelet processes: after a restart nothing that an earlier process said counts (A7, A8). */
  readonly kubeletInstance: string;
  readonly pods: readonly KubeletPod[];
  /** What a proxy before the kubelet calls itself, where one does. */
  readonly proxy?: string;
}

/** Where the pods of a node come from. Rejects with `PODS_UNREADABLE`; a list that is empty is for the caller to doubt. */
export interface PodSource {
  list(): Promise<PodListing>;
}

/** What a runtime does in its own way. Whatever is not here is the same on each. */
export interface RuntimeTraits {
  /** What stands before the hash in the id of an image. */
  readonly imageIdPrefix: 'sha256:' | '';
  /** containerd 1.6 has no such field yet. */
  readonly tellsImageIdOfContainers: boolean;
  /** CRI-O writes one of the names with a digest, until it is started anew: then the id. */
  readonly imageRefOfContainers: 'id' | 'repo-digest';
  /** CRI-O writes down the two times one after the other. */
  readonly creationInStatus: 'as-listed' | 'later';
  /** CRI-O ends what was created before it ran; containerd leaves it as it is. */
  readonly createdOnceStopped: 'created' | 'exited';
  /** Stopping became idempotent after containerd 1.6. */
  readonly stopsUnknown: boolean;
  /** containerd removes the names of an image in use, and its containers run on. CRI-O's storage refuses. */
  readonly removesImagesInUse: boolean;
  readonly pinsSandboxImage: boolean;
  /** containerd 2 tells nothing of its configuration, since it pins. */
  readonly tellsConfiguredSandboxImage: boolean;
  /** CRI-O has no process for a sandbox, unless its containers share one list of processes. */
  readonly tellsImageOfSandboxes: boolean;
  readonly mountsImages: boolean;
  /** CRI-O ends the stream at once, unless `enable_pod_events` is on. */
  readonly containerEvents: 'told' | 'none' | 'unsupported';
  /** Libraries of CRI-O refuse configurations of images with more than 4 MiB. */
  readonly takesHugeLabels: boolean;
  /** containerd's own API beside CRI. */
  readonly tellsLayers: boolean;
}

const CONTAINERD_2: RuntimeTraits = {
  imageIdPrefix: 'sha256:',
  tellsImageIdOfContainers: true,
  imageRefOfContainers: 'id',
  creationInStatus: 'as-listed',
  createdOnceStopped: 'created',
  stopsUnknown: true,
  removesImagesInUse: true,
  pinsSandboxImage: true,
  tellsConfiguredSandboxImage: false,
  tellsImageOfSandboxes: true,
  mountsImages: true,
  containerEvents: 'told',
  takesHugeLabels: true,
  tellsLayers: true,
};

export const TRAITS = {
  'containerd 2': CONTAINERD_2,
  'containerd 1.6': {
    ...CONTAINERD_2,
    tellsImageIdOfContainers: false,
    stopsUnknown: false,
    pinsSandboxImage: false,
    tellsConfiguredSandboxImage: true,
    mountsImages: false,
    containerEvents: 'unsupported',
  },
  'CRI-O 1.34': {
    ...CONTAINERD_2,
    imageIdPrefix: '',
    imageRefOfContainers: 'repo-digest',
    creationInStatus: 'later',
    createdOnceStopped: 'exited',
    removesImagesInUse: false,
    tellsConfiguredSandboxImage: true,
    tellsImageOfSandboxes: false,
    containerEvents: 'none',
    takesHugeLabels: false,
    tellsLayers: false,
  },
} as const satisfies Readonly<Record<string, RuntimeTraits>>;

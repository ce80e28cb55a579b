import { digestOf, runtimeImage } from '../../../../test/fixtures/listing.ts';

const IMAGE = runtimeImage('a');
const SPEC = { image: 'registry.example/team/a:1', userSpecifiedImage: '', runtimeHandler: '', imageRef: '' };
const METADATA = { name: 'web', uid: 'pod-1', namespace: 'default', attempt: 0 };
const LABELS = { 'io.kubernetes.pod.uid': 'pod-1' };

const imageOnWire = (name: string) => {
  const { id, repoTags, repoDigests } = runtimeImage(name);
  return { id, repoTags, repoDigests, size: '10', spec: SPEC, pinned: false };
};

const STATUS = {
  id: 'container-1',
  state: 'CONTAINER_EXITED',
  createdAt: '1',
  startedAt: '2',
  finishedAt: '3',
  imageRef: IMAGE.id,
  annotations: {},
  mounts: [{ containerPath: '/model', hostPath: '', readonly: true, image: SPEC }],
  logPath: '/var/log/pods/default_web_pod-1/app/0.log',
  imageId: IMAGE.id,
};

const CONTAINER = {
  id: 'container-1',
  podSandboxId: 'sandbox-1',
  metadata: { name: 'app', attempt: 0 },
  image: SPEC,
  imageRef: IMAGE.id,
  state: 'CONTAINER_EXITED',
  createdAt: '1',
  labels: LABELS,
  annotations: {},
  imageId: IMAGE.id,
};

const FILESYSTEM = {
  fsId: { mountpoint: '/var/lib/containerd' },
  usedBytes: { value: '10' },
  inodesUsed: { value: '1' },
};

/** Of a runtime with two images, one sandbox and two containers. */
export const NODE_ANSWERS = {
  status: {
    status: { conditions: [{ type: 'RuntimeReady', status: true }] },
    info: { config: JSON.stringify({ sandboxImage: 'registry.k8s.io/pause:3.10' }) },
  },
  listImages: { images: [imageOnWire('a'), imageOnWire('b')] },
  listPodSandbox: {
    items: [
      {
        id: 'sandbox-1',
        metadata: METADATA,
        state: 'SANDBOX_READY',
        createdAt: '1',
        labels: LABELS,
        annotations: {},
      },
    ],
  },
  listContainers: {
    containers: [CONTAINER, { ...CONTAINER, id: 'container-2', state: 'CONTAINER_RUNNING' }],
  },
  containerStatus: { status: STATUS },
  podSandboxStatus: {
    status: { id: 'sandbox-1', state: 'SANDBOX_READY' },
    info: { info: JSON.stringify({ image: 'registry.k8s.io/pause:3.10' }) },
  },
  imageStatus: {
    image: imageOnWire('a'),
    info: { info: JSON.stringify({ imageSpec: { config: { Labels: { keep: 'yes' } } } }) },
  },
  imageFsInfo: { imageFilesystems: [FILESYSTEM], containerFilesystems: [] },
};

const [CONTENT, LAYER, TOP] = ['a manifest', 'layer', 'chain'].map(digestOf);
/** Of the same, to containerd's own API. */
export const CONTAINERD_ANSWERS = {
  listStoredImages: { images: [{ name: 'registry.example/team/a:1', target: { digest: CONTENT } }] },
  listContent: {
    info: [
      {
        digest: CONTENT,
        size: '10',
        createdAt: { seconds: '1767225600', nanos: 1 },
        labels: {
          'containerd.io/gc.ref.content.l.0': LAYER,
          'containerd.io/gc.ref.snapshot.overlayfs': TOP,
          'containerd.io/distribution.source.registry.example': 'team/a',
        },
      },
      { digest: LAYER, size: '7', createdAt: null, labels: {} },
    ],
  },
  listIngests: { statuses: [{ ref: `layer-${LAYER}`, expected: LAYER }] },
  listStoredContainers: {
    container: {
      id: 'other',
      image: 'registry.example/team/a:1',
      snapshotter: 'overlayfs',
      snapshotKey: 'other',
    },
  },
  listLeases: { leases: [{ id: 'lease-1' }] },
  listLeaseResources: {
    resources: [
      { id: CONTENT, type: 'content' },
      { id: TOP, type: 'snapshots/overlayfs' },
    ],
  },
  listSnapshots: {
    info: [
      { name: TOP, parent: '', kind: 'COMMITTED' },
      { name: 'other', parent: TOP, kind: 'ACTIVE' },
    ],
  },
  snapshotUsage: { size: '7' },
};

/** A pod as the kubelet tells it. */
export const POD = {
  metadata: {
    uid: 'uid-1',
    name: 'web',
    namespace: 'default',
    deletionTimestamp: null,
    annotations: { 'kubernetes.io/config.source': 'api' },
  },
  spec: {
    containers: [{ name: 'app', image: 'app:1' }, { name: 'no-image-yet' }],
    initContainers: [{ name: 'init', image: 'init:1' }],
    ephemeralContainers: [],
    volumes: [{ name: 'data' }, { name: 'model', image: { reference: 'model:1' } }],
  },
  status: { phase: 'Running', reason: 'Evicted' },
};

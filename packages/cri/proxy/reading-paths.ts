import { CONTAINERD_METHODS } from '../containerd/methods.ts';
import { METHODS } from '../methods.ts';

/** Every call that an agent makes. None of them changes anything, and none tells what lies in an image. */
const READING_CALLS = [
  METHODS.version,
  METHODS.status,
  METHODS.listPodSandbox,
  METHODS.podSandboxStatus,
  METHODS.listContainers,
  METHODS.containerStatus,
  METHODS.getContainerEvents,
  METHODS.listImages,
  METHODS.imageStatus,
  METHODS.imageFsInfo,
  CONTAINERD_METHODS.listStoredImages,
  CONTAINERD_METHODS.listContent,
  CONTAINERD_METHODS.listIngests,
  CONTAINERD_METHODS.listStoredContainers,
  CONTAINERD_METHODS.listLeases,
  CONTAINERD_METHODS.listLeaseResources,
  CONTAINERD_METHODS.listSnapshots,
  CONTAINERD_METHODS.snapshotUsage,
];

/** Asked of a runtime that does not know v1, to be able to say what is wrong. */
const OLD_VERSION = '/runtime.v1alpha2.RuntimeService/Version';

/** `/<package>.<Service>/<Method>` of each call that a reading proxy lets through. */
export const READING_PATHS: ReadonlySet<string> = new Set([
  ...READING_CALLS.map(({ definition }) => definition.path),
  OLD_VERSION,
]);

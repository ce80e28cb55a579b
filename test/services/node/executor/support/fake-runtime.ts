import type {
  ListedContainer,
  ListedImage,
  ListedSandbox,
} from '../../../../../packages/cri/listing-types.ts';
import type { OtherUses, RuntimeReader, RuntimeRemover } from '../../../../../packages/cri/port.ts';
import type { FilesystemReader } from '../../../../../packages/machine/filesystem.ts';
import { FleetGcError } from '../../../../../packages/process/errors.ts';
import type { FilesystemReadings } from '../../../../../schemas/events/filesystem.ts';
import { filesystems } from '../../../../fixtures/filesystems.ts';

const SANDBOX_IMAGE = 'registry.k8s.io/pause:3.10';
const CAPACITY_BYTES = 1000n;

/** A runtime in memory with a disk of 1000 bytes, whose calls a test can watch, hold up, fail, and race. */
export interface FakeRuntime extends RuntimeReader, RuntimeRemover, FilesystemReader {
  readonly images: Map<string, ListedImage>;
  readonly containers: Map<string, ListedContainer>;
  readonly sandboxes: Map<string, ListedSandbox>;
  /** Changing calls as they came: `removeImage <id>`. */
  readonly calls: string[];
  /** Ids as they went, each time that one went. */
  readonly gone: string[];
  /** Bytes that are no image. */
  otherBytes: bigint;
  /** Bytes on the way out. */
  leavingBytes: bigint;
  /** Called with `<method> <id>` before a call has its effect, and may reject; lists have no id. */
  before: (call: string) => void | Promise<void>;
  /** Called after a call had its effect, and may reject. */
  after: (call: string) => void | Promise<void>;
  sandboxImage: string;
  otherUses: OtherUses;
  filesystemReadings: (availableBytes: bigint) => FilesystemReadings;
}

export function fakeRuntime(): FakeRuntime {
  const fake: FakeRuntime = {
    images: new Map(),
    containers: new Map(),
    sandboxes: new Map(),
    calls: [],
    otherUses: async () => [],
    gone: [],
    otherBytes: 0n,
    leavingBytes: 0n,
    before: () => undefined,
    after: () => undefined,
    sandboxImage: SANDBOX_IMAGE,
    filesystemReadings: (available) => filesystems({ availableBytes: String(available) }),
    version: () => read('version', () => ({ name: 'fake', version: '1', apiVersion: 'v1' })),
    status: () => read('status', () => ({ runtimeReady: true, sandboxImage: fake.sandboxImage })),
    listImages: () => read('listImages', () => [...fake.images.values()]),
    listContainers: () => read('listContainers', () => [...fake.containers.values()]),
    listSandboxes: () => read('listSandboxes', () => [...fake.sandboxes.values()]),
    containerStatus: (id) =>
      read(
        'containerStatus',
        () => ({ ...known(fake.containers, id), startedAtNs: 0n, finishedAtNs: 0n }),
        id,
      ),
    sandboxStatus: (id) => read('sandboxStatus', () => known(fake.sandboxes, id), id),
    imageLabels: (id) => read('imageLabels', () => ({}), id),
    imageFilesystems: () => read('imageFilesystems', () => ({ image: [], container: [] })),
    // biome-ignore lint/correctness/useYield: a runtime without events
    containerEvents: async function* () {
      throw new FleetGcError('RUNTIME_UNSUPPORTED', 'no events here');
    },
    removeImage: (id) => change('removeImage', id, () => remove(fake.images, id)),
    stopContainer: (id, seconds) =>
      change(`stopContainer(${seconds})`, id, () => {
        fake.containers.set(id, { ...known(fake.containers, id), state: 'exited' });
      }),
    removeContainer: (id) => change('removeContainer', id, () => remove(fake.containers, id)),
    stopSandbox: (id) =>
      change('stopSandbox', id, () => {
        fake.sandboxes.set(id, { ...known(fake.sandboxes, id), state: 'notReady' });
      }),
    removeSandbox: (id) => change('removeSandbox', id, () => remove(fake.sandboxes, id)),
    read: async () => {
      await fake.before('statfs');
      const used = [...fake.images.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, fake.otherBytes);
      return fake.filesystemReadings(CAPACITY_BYTES - used - fake.leavingBytes);
    },
  };
  const read = async <T>(method: string, answer: () => T, id?: string): Promise<T> => {
    const call = id === undefined ? method : `${method} ${id}`;
    await fake.before(call);
    const answered = answer();
    await fake.after(call);
    return answered;
  };
  const change = async (method: string, id: string, effect: () => void): Promise<void> => {
    const call = `${method} ${id}`;
    fake.calls.push(call);
    await fake.before(call);
    effect();
    await fake.after(call);
  };
  const remove = (objects: Map<string, unknown>, id: string): void => {
    known(objects, id);
    objects.delete(id);
    fake.gone.push(id);
  };
  return fake;
}

function known<T>(objects: ReadonlyMap<string, T>, id: string): T {
  const object = objects.get(id);
  if (object !== undefined) return object;
  throw new FleetGcError('RUNTIME_NOT_FOUND', `"${id}": not found`);
}

import type { RuntimeReader, RuntimeRemover } from '../../../packages/cri/port.ts';
import type { OutgoingRecord } from '../../../packages/log/port.ts';
import type { FilesystemReader } from '../../../packages/machine/filesystem.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createPublisher } from '../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import type { Command } from '../../../schemas/events/command.ts';
import { NO_DISK_HISTORY } from '../../../services/node/agent/disks.ts';
import { NO_LOCAL_RULES } from '../../../services/node/executor/local-rules.ts';
import type { OpenDirectory } from '../../../services/node/executor/pod-logs.ts';
import {
  createNodeExecutor,
  type NodeExecutor,
  type NodeFiles,
} from '../../../services/node/executor/run.ts';
import { filesystems } from '../../../test/fixtures/filesystems.ts';
import { input } from '../../../test/fixtures/input.ts';
import { NODE } from '../../../test/fixtures/inventory.ts';
import { countedIds, NOW_MS } from '../../../test/support/logs/log-record.ts';
import { madeUpPositions } from '../../../test/support/logs/made-up-positions.ts';
import { NO_METRICS, SILENT } from '../../../test/support/silent.ts';
import { memoizedParse } from '../memoized-parse.ts';
import { Waits } from '../waits.ts';
import type { Node, Orphan } from './node.ts';
import { ownInventory, PODS } from './scenario.ts';

export const WORKER = 'worker';
export const PUBLISHER = 'publisher';
/** Looks every second, and for ten minutes, whether what failed to go goes late; it tells the agent, and removes nothing. */
const LATE_WATCH = 'late watch';
const LATE_WATCH_POLL_MS = 1_000;

export type ListedKind = 'images' | 'containers' | 'sandboxes';

/** Is told what a process asks for, before it happens. */
export interface Watcher {
  /** The process asks the runtime to remove an object. */
  asked(id: string): void;
  listed(kind: ListedKind, ids: readonly string[]): void;
  /** The last list of a look is read: whatever came before it the process has to know. */
  looked(): void;
  published(records: readonly OutgoingRecord[]): void;
}

/** One process of the executor. */
export class Life {
  readonly waits = new Waits();
  /** So many more of its writes reach the disk; then it has died amid a move. */
  writesLeft = Number.POSITIVE_INFINITY;
  readonly #isReduced: boolean;
  readonly #executor: NodeExecutor;

  constructor(node: Node, watcher: Watcher, isReduced: boolean) {
    this.#isReduced = isReduced;
    const runtime = runtimeOf(node, this, watcher);
    this.#executor = createNodeExecutor({
      node: {
        trust: TRUST_OFF,
        identity: NODE,
        runtime,
        filesystems: runtime,
        clock: node.clock,
        state: stateOf(node, this),
        policy: () => node.policyInForce(),
        takeInventory: (reclaim) =>
          this.read('inventory', node.orphans.length > 0, () =>
            ownInventory(node.listImages(), node.listContainers(), { takenAt: node.clock.now(), reclaim }),
          ),
        diskHistory: () => NO_DISK_HISTORY,
        wantedByPods: () => [],
        podsNow: async () => [],
      },
      files: filesOf(this),
      publisher: publisherOf(this, watcher),
      sleep: sleepOf(node, this),
      random: () => 0,
      logger: SILENT,
      metrics: NO_METRICS,
    });
    void this.#executor.run(new AbortController().signal);
  }

  /**
   * What a move could change is a wait. Where none can, a wait could be answered at any time with the same answer, and the process
   * that dies in it has done what it had done before: so it is answered at once.
   */
  async read<T>(name: string, canChange: boolean, read: () => T): Promise<T> {
    return this.#isReduced && !canChange ? read() : await this.waits.ask(WORKER, name, read);
  }

  get isDead(): boolean {
    return this.writesLeft <= 0;
  }

  async receive(command: Command): Promise<void> {
    await this.#executor.commands(input('commands', command));
  }
}

const stateOf = (node: Node, life: Life): StateDirectory => {
  const openReadOnly: StateDirectory['openReadOnly'] = (name, schema) => {
    const parse = memoizedParse(schema);
    return {
      read: () => {
        const content = node.files.get(name);
        return content === undefined ? null : parse(content);
      },
    };
  };
  return {
    path: '/nowhere',
    nodeInstance: NODE.nodeInstance,
    openReadOnly,
    open: (name, _, schema) => ({
      ...openReadOnly(name, schema),
      write: (value) => {
        if (life.isDead) return;
        life.writesLeft -= 1;
        node.write(name, JSON.stringify(value));
      },
    }),
  };
};

const sleepOf =
  (node: Node, life: Life): Sleep =>
  (ms) =>
    ms === LATE_WATCH_POLL_MS
      ? life.waits.ask(LATE_WATCH, 'sleep', () => undefined)
      : life.read(`sleep ${ms}`, false, () => node.clock.advance(ms));

const publisherOf = ({ waits }: Life, watcher: Watcher) =>
  createPublisher({
    signer: UNSIGNED,
    log: {
      publish: async (records) => {
        const ids = records.map(({ headers }) => headers.ce_id).join(' ');
        await waits.request(PUBLISHER, `publish ${ids}`, () => watcher.published(records));
        return madeUpPositions(records);
      },
    },
    source: '/fleetgc/prod/web-1',
    now: () => NOW_MS,
    ids: countedIds(),
  });

/** There are no log files; the containers' own removals are what can go wrong. */
const EMPTY: OpenDirectory = {
  path: PODS,
  names: async () => [],
  lstat: async () => null,
  stat: async () => null,
  unlink: async () => undefined,
  rmdir: async () => undefined,
  open: async () => null,
  [Symbol.asyncDispose]: async () => undefined,
};

const filesOf = ({ waits }: Life): NodeFiles => ({
  podLogs: { podLogsDir: PODS, containerLogsDir: '/var/log/containers', openDirectory: async () => EMPTY },
  localRules: () => waits.ask(WORKER, 'local rules', () => NO_LOCAL_RULES),
});

function runtimeOf(
  node: Node,
  life: Life,
  watcher: Watcher,
): RuntimeReader & RuntimeRemover & FilesystemReader {
  const constant = <T>(name: string, value: T): Promise<T> => life.read(name, false, () => value);
  /** Containers are listed last, and twice: the second list is what is decided on. */
  let containerLists = 0;
  const list = <T extends { readonly id: string }>(
    kind: ListedKind,
    canChange: boolean,
    read: () => readonly T[],
  ): Promise<readonly T[]> =>
    life.read(kind, canChange, () => {
      const listed = read();
      watcher.listed(
        kind,
        listed.map(({ id }) => id),
      );
      return listed;
    });
  const listContainers = () => {
    containerLists += 1;
    const isLast = containerLists === 2;
    return list('containers', isLast || node.orphans.length > 0, () => {
      if (isLast) watcher.looked();
      return node.listContainers();
    });
  };
  const remove = (object: Orphan): Promise<void> => {
    // A process that has died amid a move asks nobody any more.
    if (!life.isDead) watcher.asked(object.id);
    return life.waits.request(WORKER, `remove ${object.kind} ${object.id}`, () => node.remove(object));
  };
  const unused = (): never => {
    throw new FleetGcError('RUNTIME_FAILED', 'no object of a scenario needs this');
  };
  return {
    version: () => constant('version', { name: 'made up', version: '1', apiVersion: 'v1' }),
    status: () => {
      containerLists = 0;
      return constant('status', { runtimeReady: true, sandboxImage: 'registry.k8s.io/pause:3.10' });
    },
    listImages: () => list('images', node.orphans.length > 0, () => node.listImages()),
    listContainers,
    listSandboxes: () => list('sandboxes', false, () => []),
    containerStatus: (id) => life.read(`status ${id}`, node.orphans.length > 0, () => statusOf(node, id)),
    imageLabels: () => constant('labels', {}),
    imageFilesystems: () => constant('filesystems', { image: [], container: [] }),
    sandboxStatus: unused,
    // biome-ignore lint/correctness/useYield: a runtime without events
    containerEvents: async function* () {
      unused();
    },
    read: () => constant('statfs', filesystems()),
    removeImage: (id) => remove({ kind: 'images', id }),
    removeContainer: (id) => remove({ kind: 'containers', id }),
    stopContainer: unused,
    stopSandbox: unused,
    removeSandbox: unused,
  };
}

function statusOf(node: Node, id: string) {
  node.touched.readContainers = true;
  const container = node.containers.get(id);
  if (container === undefined) throw new FleetGcError('RUNTIME_NOT_FOUND', `"${id}": not found`);
  return { ...container, startedAtNs: 0n, finishedAtNs: 0n };
}

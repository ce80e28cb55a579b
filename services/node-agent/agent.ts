import type { Logger } from 'pino';
import type { RuntimeReader } from '../../packages/cri/port.ts';
import { type Handler, nodeOutput } from '../../packages/decision/handler.ts';
import type { PodSource } from '../../packages/kubelet/pod-source.ts';
import type { NodeClock } from '../../packages/machine/clock.ts';
import type { FilesystemReader } from '../../packages/machine/filesystem.ts';
import type { StateDirectory } from '../../packages/machine/state-directory.ts';
import type { Publisher } from '../../packages/pipeline/publisher.ts';
import type { Sleep } from '../../packages/process/back-off.ts';
import type { Metrics } from '../../packages/process/metrics.ts';
import type { DiskStats } from '../../schemas/events/disk-stats.ts';
import type { NodeIdentity } from '../../schemas/events/identity.ts';
import type { Observe } from '../../schemas/events/observe.ts';
import type { PolicySet } from '../../schemas/policy/policy.ts';
import { type AgentMetrics, addFilesystemGauges, agentMetrics, type Fact } from './agent-metrics.ts';
import { watchDeaths } from './death-watch.ts';
import { watchDisks } from './disks/disk-watch.ts';
import { type Justification, observeHandler, whyUnjustified } from './handler.ts';
import { openHistory } from './images/kept-history.ts';
import type { ContentReading } from './inventory/content-reading.ts';
import { agentEvents } from './inventory/inventory.ts';
import { ownInventory, type TakeInventory } from './inventory/inventory-for-executor.ts';
import { backoffReader, contentsOfScans, removedImagesReader } from './inventory/inventory-objects.ts';
import type { LogReader } from './inventory/log-entries.ts';
import { createNodeScanner, type NodeScan } from './inventory/node-scan.ts';
import type { KubeletSource } from './pods/pod-states.ts';
import { watchPods } from './pods/pod-watch.ts';
import { createInventories, inventoryPublishing } from './publishing/inventories.ts';
import { createOutbox, type Outbox } from './publishing/outbox.ts';
import { type Repeating, together } from './repeat.ts';

/** Everything from outside that an agent needs. It gets only the reading half of the runtime. */
export interface NodeAgentDeps {
  readonly identity: NodeIdentity;
  readonly nodeLabels: Readonly<Record<string, string>>;
  /** As this process follows them; throws `POLICIES_UNREADABLE` while they cannot be read. */
  readonly policies: () => PolicySet;
  readonly runtime: RuntimeReader;
  /** What is told of images beside CRI. */
  readonly contents: ContentReading;
  readonly filesystems: FilesystemReader;
  readonly logs: LogReader;
  /** `null`: there is no source, and every pod is unknown. */
  readonly pods: PodSource | null;
  /** The kubelet's sources that must have delivered before a pod can be gone; `api` except on a standalone node. */
  readonly podSources: readonly KubeletSource[];
  readonly state: Pick<StateDirectory, 'open' | 'openReadOnly'>;
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly clock: NodeClock;
  readonly sleep: Sleep;
  readonly repeating: Repeating;
  /** 0 <= number < 1, for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The newest inventory says it all; disk statistics of an hour are more than anybody asks for afterwards. */
const OUTBOX_LIMITS: Readonly<Record<Fact, number>> = { inventory: 1, 'disk-stats': 60 };

/** Reads one node and publishes what it sees. It does nothing before `run`. */
export class NodeAgent {
  /** For the topic `observe`. */
  readonly observe: Handler<Observe>;
  /** For the executor of the same process. */
  readonly takeInventory: TakeInventory;
  readonly diskHistory: () => DiskStats['history'];
  readonly #deps: NodeAgentDeps;
  readonly #metrics: AgentMetrics;
  readonly #outboxes: Readonly<Record<'inventory' | 'diskStats', Outbox>>;
  readonly #events: ReturnType<typeof agentEvents>;
  readonly #history: ReturnType<typeof openHistory>;
  readonly #disks: ReturnType<typeof watchDisks>;
  readonly #inventories: ReturnType<typeof createInventories>;

  constructor(deps: NodeAgentDeps) {
    const { identity, nodeLabels, clock, logger } = deps;
    const startedAt = clock.now();
    const removed = removedImagesReader(deps.state, logger);
    this.#deps = deps;
    this.#metrics = agentMetrics(deps.metrics);
    this.#outboxes = { inventory: this.#outboxFor('inventory'), diskStats: this.#outboxFor('disk-stats') };
    this.#events = agentEvents({ identity, nodeLabels, startedAt });
    this.#history = openHistory({ state: deps.state, now: startedAt, removed, logger });
    this.#disks = watchDisks(deps);
    const pods = watchPods({ source: deps.pods, sources: deps.podSources, clock, logger });
    const scan = createNodeScanner({ ...deps, pods, history: this.#history });
    const told = { backoff: backoffReader(deps.state, logger), contentsOf: contentsOfScans(deps.contents) };
    this.#inventories = this.#inventoriesBy(scan, told);
    addFilesystemGauges(deps.metrics, this.#disks.readings);
    const { lastScan } = this.#inventories;
    this.takeInventory = ownInventory({ ...told, scan, lastScan, events: this.#events, clock });
    this.diskHistory = this.#disks.history;
    this.observe = this.#ordersHandler();
  }

  /** Reads the node and publishes facts until the signal aborts. A property, since it is passed on by itself. */
  readonly run = async (signal: AbortSignal): Promise<void> => {
    const { runtime, sleep, repeating, logger } = this.#deps;
    const { detect, died, run } = this.#inventories;
    const onDeath = (id: string): void => died([id]);
    await together(
      [
        (stop) => repeating('sample', () => this.#sample(), stop),
        (stop) => repeating('detect', detect, stop),
        (stop) => repeating('save', () => this.#save('due'), stop),
        (stop) => watchDeaths({ runtime, onDeath, sleep, logger }, stop),
        run,
        this.#outboxes.inventory.run,
        this.#outboxes.diskStats.run,
      ],
      signal,
    ).finally(() => this.#save('end'));
  };

  /** Why it cannot do its work at the moment, in a sentence; `null` when it can. */
  readonly problem = (): string | null => {
    const { inventory, diskStats } = this.#outboxes;
    return problemOf(this.#inventories.lastScan()) ?? inventory.problem() ?? diskStats.problem();
  };

  #outboxFor(what: Fact): Outbox {
    const onDropped = (): void => this.#metrics.dropped.add({ fact: what });
    return createOutbox({ ...this.#deps, what, limit: OUTBOX_LIMITS[what], onDropped });
  }

  #inventoriesBy(
    scan: ReturnType<typeof createNodeScanner>,
    told: Pick<Parameters<typeof inventoryPublishing>[0], 'backoff' | 'contentsOf'>,
  ): ReturnType<typeof createInventories> {
    const { runtime, clock, sleep, logger } = this.#deps;
    const metrics = this.#metrics;
    const publish = inventoryPublishing({
      ...told,
      events: this.#events,
      runtime,
      historyUnreadable: this.#history.unreadable,
      outbox: this.#outboxes.inventory,
      metrics,
      logger,
    });
    return createInventories({
      scan,
      readings: this.#disks.readings,
      publish: (found, work) => {
        // The executor keeps what it finds no record of, so the records go ahead of the inventory that shows them.
        this.#history.save('due');
        return publish(found, work);
      },
      onScan: ({ status }) => metrics.looks.add({ status }),
      onExpired: () => metrics.orders.add({ outcome: 'expired' }),
      clock,
      sleep,
    });
  }

  #ordersHandler(): Handler<Observe> {
    const { identity, nodeLabels, policies, clock, logger } = this.#deps;
    const justification: Justification = {
      node: { ...identity, nodeLabels },
      policies,
      readings: () => ({
        filesystems: this.#disks.readings(),
        history: this.#disks.history(),
        nowMs: clock.now().sinceBootMs,
      }),
    };
    return observeHandler({
      self: identity,
      clock,
      whyUnjustified: (order) => whyUnjustified(order, justification),
      accept: this.#inventories.accept,
      metrics: this.#metrics,
      logger,
    });
  }

  async #sample(): Promise<void> {
    const facts = await this.#disks.sample();
    if (facts) {
      const output = nodeOutput('diskStats', this.#events.diskStats(facts));
      this.#outboxes.diskStats.put({ output });
    }
  }

  #save(when: 'due' | 'end'): void {
    this.#history.save(when);
    this.#disks.save(when);
  }
}

function problemOf(scan: NodeScan | null): string | null {
  if (scan === null) return 'has not looked at the container runtime yet';
  return scan.status === 'incomplete' ? (scan.problems[0]?.message ?? null) : null;
}

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
import { addFilesystemGauges, agentMetrics, type Fact } from './agent-metrics.ts';
import { watchDeaths } from './death-watch.ts';
import { watchDisks } from './disks/disk-watch.ts';
import { observeHandler } from './handler.ts';
import { openHistory } from './images/history.ts';
import type { ContentReading } from './inventory/content-reading.ts';
import { contentsOfLooks } from './inventory/contents-of-looks.ts';
import { agentEvents } from './inventory/events.ts';
import { backoffReader, removedImagesReader } from './inventory/executor-files.ts';
import type { LogReader } from './inventory/log-entries.ts';
import { createLook, type Look } from './inventory/look.ts';
import { ownInventory, type TakeInventory } from './inventory/own-inventory.ts';
import { type Justification, whyUnjustified } from './order-check.ts';
import type { KubeletSource } from './pods/pod-states.ts';
import { watchPods } from './pods/pod-watch.ts';
import { createInventories } from './publishing/inventories.ts';
import { inventoryPublishing } from './publishing/inventory-publishing.ts';
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

/** An agent that is not running yet. */
export interface NodeAgent {
  /** For the topic `observe`. */
  readonly observe: Handler<Observe>;
  /** Reads the node and publishes facts until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** For the executor of the same process. */
  readonly takeInventory: TakeInventory;
  readonly diskHistory: () => DiskStats['history'];
  /** Why it cannot do its work at the moment, in a sentence; `null` when it can. */
  problem(): string | null;
}

/** The newest inventory says it all; disk statistics of an hour are more than anybody asks for afterwards. */
const OUTBOX_LIMITS: Readonly<Record<Fact, number>> = { inventory: 1, 'disk-stats': 60 };

export function createNodeAgent(deps: NodeAgentDeps): NodeAgent {
  const { identity, nodeLabels, runtime, clock, sleep, repeating, logger } = deps;
  const startedAt = clock.now();
  const metrics = agentMetrics(deps.metrics);
  const outboxFor = (fact: Fact): Outbox =>
    createOutbox({
      ...deps,
      what: fact,
      limit: OUTBOX_LIMITS[fact],
      onDropped: () => metrics.dropped.add({ fact }),
    });
  const outboxes = { inventory: outboxFor('inventory'), diskStats: outboxFor('disk-stats') };
  const events = agentEvents({ identity, nodeLabels, startedAt });
  const history = openHistory({
    state: deps.state,
    now: startedAt,
    removed: removedImagesReader(deps.state, logger),
    logger,
  });
  const disks = watchDisks(deps);
  const pods = watchPods({ source: deps.pods, sources: deps.podSources, clock, logger });
  const backoff = backoffReader(deps.state, logger);
  const look = createLook({ ...deps, pods, history });
  const contentsOf = contentsOfLooks(deps.contents);
  const publish = inventoryPublishing({
    events,
    runtime,
    backoff,
    historyUnreadable: history.unreadable,
    contentsOf,
    outbox: outboxes.inventory,
    metrics,
    logger,
  });
  const inventories = createInventories({
    look,
    readings: disks.readings,
    publish: (found, work) => {
      // The executor keeps what it finds no record of, so the records go ahead of the inventory that shows them.
      history.save('due');
      return publish(found, work);
    },
    onLook: ({ status }) => metrics.looks.add({ status }),
    onExpired: () => metrics.orders.add({ outcome: 'expired' }),
    clock,
    sleep,
  });
  addFilesystemGauges(deps.metrics, disks.readings);
  const justification: Justification = {
    node: { ...identity, nodeLabels },
    policies: deps.policies,
    readings: () => ({
      filesystems: disks.readings(),
      history: disks.history(),
      nowMs: clock.now().sinceBootMs,
    }),
  };

  const sample = async (): Promise<void> => {
    const facts = await disks.sample();
    if (facts) outboxes.diskStats.put({ output: nodeOutput('diskStats', events.diskStats(facts)) });
  };
  const save = (when: 'due' | 'end'): void => {
    history.save(when);
    disks.save(when);
  };

  return {
    takeInventory: ownInventory({
      look,
      lastLook: inventories.lastLook,
      events,
      backoff,
      contentsOf,
      clock,
    }),
    diskHistory: disks.history,
    observe: observeHandler({
      self: identity,
      clock,
      whyUnjustified: (order) => whyUnjustified(order, justification),
      accept: inventories.accept,
      metrics,
      logger,
    }),
    run: async (signal) => {
      await together(
        [
          (stop) => repeating('sample', sample, stop),
          (stop) => repeating('detect', inventories.detect, stop),
          (stop) => repeating('save', () => save('due'), stop),
          (stop) => watchDeaths({ runtime, onDeath: (id) => inventories.died([id]), sleep, logger }, stop),
          inventories.run,
          outboxes.inventory.run,
          outboxes.diskStats.run,
        ],
        signal,
      ).finally(() => save('end'));
    },
    problem: () =>
      problemOf(inventories.lastLook()) ?? outboxes.inventory.problem() ?? outboxes.diskStats.problem(),
  };
}

function problemOf(look: Look | null): string | null {
  if (look === null) return 'has not looked at the container runtime yet';
  return look.status === 'incomplete' ? (look.problems[0]?.message ?? null) : null;
}

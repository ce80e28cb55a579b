import { deriveId } from '../../../packages/canonical/ids.ts';
import type { RuntimeVersion } from '../../../packages/cri/port.ts';
import { PRODUCT_VERSION } from '../../../packages/process/product-version.ts';
import { ACCEPTED_COMMAND_VERSIONS } from '../../../schemas/events/command.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { NodeIdentity } from '../../../schemas/events/identity.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { DiskFacts } from '../disks/disk-watch.ts';
import type { Work } from '../publishing/pacing.ts';
import { type InventoryParts, inventoryOf } from './inventory.ts';
import type { Look } from './look.ts';

/** What every event of one agent says of itself. */
export interface AgentSelf {
  readonly identity: NodeIdentity;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly startedAt: Instant;
}

/** What was found, and why it was looked for. */
export interface Found extends Pick<Work, 'trigger' | 'diedContainerIds'> {
  readonly look: Look;
  /** The reclaim that it answers. */
  readonly reclaim: Reclaim | null;
  readonly runtime: Pick<RuntimeVersion, 'name' | 'version'>;
}

export type AgentEvents = ReturnType<typeof agentEvents>;

/** Makes events of facts. Ids follow from the installation, the start of the agent and a count. */
export function agentEvents({ identity, nodeLabels, startedAt }: AgentSelf) {
  let events = 0;
  const nextId = (prefix: string): string =>
    deriveId(
      prefix,
      identity.nodeInstance,
      startedAt.bootId,
      String(startedAt.sinceBootMs),
      String(events++),
    );
  return {
    diskStats: (facts: DiskFacts): DiskStats => ({
      type: 'fleetgc.node.disk-stats',
      version: 1,
      id: nextId('disk-stats'),
      ...identity,
      fleetgcVersion: PRODUCT_VERSION,
      nodeLabels: { ...nodeLabels },
      ...facts,
    }),
    inventory: (
      { look, trigger, reclaim, diedContainerIds, runtime }: Found,
      parts: Omit<InventoryParts, 'diedContainerIds'>,
    ): Inventory =>
      inventoryOf(
        {
          type: 'fleetgc.node.inventory',
          version: 1,
          id: nextId('inventory'),
          ...identity,
          takenAt: look.takenAt,
          agentStartedAt: startedAt,
          trigger,
          reclaim,
          nodeLabels: { ...nodeLabels },
          commandVersions: [...ACCEPTED_COMMAND_VERSIONS],
          runtime: { name: runtime.name, version: runtime.version },
          filesystems: look.readings,
        },
        look,
        { ...parts, diedContainerIds },
      ),
  };
}

import type { Logger } from 'pino';
import type { RuntimeReader, RuntimeVersion } from '../../../packages/cri/port.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import type { AgentMetrics } from '../agent-metrics.ts';
import type { ContentsOfLook } from '../inventory/contents-of-looks.ts';
import type { AgentEvents } from '../inventory/events.ts';
import type { BackoffEntries } from '../inventory/inventory-objects.ts';
import type { Look } from '../inventory/look.ts';
import type { Outbox } from './outbox.ts';
import type { Work } from './pacing.ts';

export interface InventoryPublishingParts {
  readonly events: Pick<AgentEvents, 'inventory'>;
  readonly runtime: Pick<RuntimeReader, 'version'>;
  readonly backoff: () => BackoffEntries;
  readonly historyUnreadable: string | null;
  readonly contentsOf: ContentsOfLook;
  readonly outbox: Pick<Outbox, 'put'>;
  readonly metrics: Pick<AgentMetrics, 'inventories'>;
  readonly logger: Logger;
}

const UNKNOWN_RUNTIME: Pick<RuntimeVersion, 'name' | 'version'> = { name: 'unknown', version: '' };

/** Makes the inventory of a look and hands it to the outbox; resolves to its status. */
export function inventoryPublishing(
  parts: InventoryPublishingParts,
): (look: Look, work: Work) => Promise<Inventory['status']> {
  const { events, backoff, contentsOf, outbox, metrics, logger } = parts;
  const versionOf = rememberedVersion(parts.runtime);
  let historyUnreadable = parts.historyUnreadable;
  return async (look, work) => {
    const runtime = await versionOf();
    const contents = await contentsOf(look);
    const { trigger: cause, order, diedContainerIds } = work;
    const event = events.inventory(
      { look, trigger: cause, reclaim: order?.reclaim ?? null, diedContainerIds, runtime },
      { backoff: backoff(), historyUnreadable, ...contents },
    );
    const { id, trigger, status } = event;
    metrics.inventories.add({ trigger, status });
    const problems = event.status === 'incomplete' ? { problems: event.problems } : {};
    if (status === 'complete') logger.debug({ inventoryId: id, trigger }, 'inventory complete');
    else
      logger.warn(
        { inventoryId: id, trigger, ...problems },
        'inventory incomplete: nothing is removed on it',
      );
    const reported = historyUnreadable;
    outbox.put({
      output: nodeOutput('inventory', event),
      ...(order?.trace && { trace: order.trace }),
      onPublished: () => {
        if (reported !== null) historyUnreadable = null;
      },
    });
    return status;
  };
}

/** For people; a runtime that does not answer keeps the version it had. */
function rememberedVersion(runtime: Pick<RuntimeReader, 'version'>) {
  let known = UNKNOWN_RUNTIME;
  return async () => {
    try {
      known = await runtime.version();
    } catch {
      // The look says what is wrong with the runtime.
    }
    return known;
  };
}

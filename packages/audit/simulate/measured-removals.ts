import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { Measured } from '../../../schemas/events/result.ts';
import type { EventLog } from '../../log/port.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import { type PartitionReading, readPartition } from '../../records/read-log.ts';
import { objectKey } from '../events/identity.ts';
import { SIZED_BY } from './space-effects.ts';

type Named = { readonly kind: ObjectKind; readonly id: string };

/** What removals freed as the node measured it; `null` of what it did not remove, or could not measure. */
export type MeasuredOf = (object: Named) => Measured | null;

/**
 * Reads what the removals of one partition freed, images aside, of which plans tell it: what a container takes up is not in
 * inventories, and only nodes that removed it know. By installation.
 */
export async function readMeasured(
  log: Pick<EventLog, 'read'>,
  { partition, range }: Omit<PartitionReading, 'topics'>,
  signal: AbortSignal,
): Promise<(nodeInstance: string) => MeasuredOf> {
  const byInstallation = new Map<string, Map<string, Measured>>();
  for await (const { record } of readPartition(log, { topics: ['results'], partition, range }, signal)) {
    const parsed = parseRecord('results', record);
    if (!parsed.ok || parsed.event.type !== 'fleetgc.node.object-result') continue;
    const { nodeInstance, object, result } = parsed.event;
    if (SIZED_BY[object.kind] === 'plan' || result.outcome !== 'removed' || result.measured === null)
      continue;
    const known = byInstallation.get(nodeInstance) ?? new Map<string, Measured>();
    byInstallation.set(nodeInstance, known.set(objectKey(object), result.measured));
  }
  return (nodeInstance) => {
    const known = byInstallation.get(nodeInstance);
    return (object) => known?.get(objectKey(object)) ?? null;
  };
}

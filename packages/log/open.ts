import { z } from 'zod';
import { EmbeddedOptions } from './embedded/options.ts';
import { KafkaOptions } from './kafka/client/options.ts';
import type { EventLog, EventLogContext } from './port.ts';

/** Which event log, and where. */
export const EventLogOptions = z.discriminatedUnion('kind', [EmbeddedOptions, KafkaOptions]);
export type EventLogOptions = z.infer<typeof EventLogOptions>;

/**
 * Opens the event log. Kafka is not waited for; an embedded file is opened, or the failure is thrown. Only the code of the log that
 * is opened is loaded.
 */
export async function openEventLog(options: EventLogOptions, context: EventLogContext): Promise<EventLog> {
  if (options.kind === 'embedded') {
    const { openEmbeddedLog } = await import('./embedded.ts');
    return await openEmbeddedLog(options, context);
  }
  const { openKafkaLog } = await import('./kafka.ts');
  return await openKafkaLog(options, context);
}

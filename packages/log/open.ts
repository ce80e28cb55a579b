import { z } from 'zod';
import { EmbeddedOptions } from './embedded/opened-log.ts';
import { openEmbeddedLog } from './embedded.ts';
import { KafkaOptions } from './kafka/client/options.ts';
import { openKafkaLog } from './kafka.ts';
import type { EventLog, EventLogContext } from './port.ts';

/** Which event log, and where. */
export const EventLogOptions = z.discriminatedUnion('kind', [EmbeddedOptions, KafkaOptions]);
export type EventLogOptions = z.infer<typeof EventLogOptions>;

/** Opens the event log. Kafka is not waited for; an embedded file is opened, or the failure is thrown. */
export function openEventLog(options: EventLogOptions, context: EventLogContext): Promise<EventLog> {
  return options.kind === 'embedded' ? openEmbeddedLog(options, context) : openKafkaLog(options, context);
}

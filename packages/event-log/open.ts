import { z } from 'zod';
import { openEmbeddedLog } from './embedded.ts';
import { KafkaOptions } from './kafka/client/options.ts';
import { openKafkaLog } from './kafka.ts';
import type { EventLog, EventLogContext } from './port.ts';

const MEBIBYTE = 1024 * 1024;

const EmbeddedOptions = z.strictObject({
  kind: z.literal('embedded'),
  path: z.string().min(1),
  /** Size the file may reach. */
  maxBytes: z
    .int()
    .min(16 * MEBIBYTE)
    .default(1024 * MEBIBYTE),
  /** Records that are past their time are left for other processes to delete. */
  leavesRetention: z.boolean().optional(),
  /** Whether it is to be written also while its disk is full, for which it takes 25 MB. */
  keepsSpace: z.boolean().optional(),
});

/** Which event log, and where. */
export const EventLogOptions = z.discriminatedUnion('kind', [EmbeddedOptions, KafkaOptions]);
export type EventLogOptions = z.infer<typeof EventLogOptions>;

/** Opens the event log. Kafka is not waited for; an embedded file is opened, or the failure is thrown. */
export function openEventLog(options: EventLogOptions, context: EventLogContext): Promise<EventLog> {
  return options.kind === 'embedded' ? openEmbeddedLog(options, context) : openKafkaLog(options, context);
}

import { recordBytes } from '../../packages/event-log/limits.ts';
import type { EventLog } from '../../packages/event-log/port.ts';

/** Events and their bytes before compression, by topic. */
export type Published = Readonly<Record<string, { readonly events: number; readonly bytes: number }>>;

/** A log of which it is counted what it acknowledged. */
export function countedLog(log: Pick<EventLog, 'publish'>) {
  const published: Record<string, { events: number; bytes: number }> = {};
  return {
    published: (): Published => ({ ...published }),
    publish: async (records: Parameters<EventLog['publish']>[0]): Promise<void> => {
      await log.publish(records);
      for (const record of records) {
        const { events, bytes } = published[record.topic] ?? { events: 0, bytes: 0 };
        published[record.topic] = { events: events + 1, bytes: bytes + recordBytes(record) };
      }
    },
  };
}

import type { Output } from '../../../packages/decision/handler.ts';
import { recordBytes } from '../../../packages/log/limits.ts';
import type { EventLog, OutgoingRecord } from '../../../packages/log/port.ts';
import type { Publisher } from '../../../packages/records/publisher.ts';

/** A publisher of which somebody hears what the log has acknowledged. */
export function acknowledgingPublisher(
  publisher: Publisher,
  acknowledged: (output: Output) => void,
): Publisher {
  const outputOf = new WeakMap<OutgoingRecord, Output>();
  return {
    ids: publisher.ids,
    tracer: publisher.tracer,
    records: (outputs, trace) =>
      outputs.flatMap((output) => {
        const records = publisher.records([output], trace);
        for (const record of records) outputOf.set(record, output);
        return records;
      }),
    send: async (records) => {
      await publisher.send(records);
      for (const record of records) {
        const output = outputOf.get(record);
        if (output !== undefined) acknowledged(output);
      }
    },
    publish: async (outputs, trace) => {
      await publisher.publish(outputs, trace);
      outputs.forEach(acknowledged);
    },
  };
}

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

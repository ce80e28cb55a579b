import type { Output } from '../../packages/decision/handler.ts';
import type { OutgoingRecord } from '../../packages/event-log/port.ts';
import type { Publisher } from '../../packages/pipeline/publisher.ts';

/** A publisher of which somebody hears what the log has acknowledged. */
export function heardPublisher(publisher: Publisher, acknowledged: (output: Output) => void): Publisher {
  const outputOf = new WeakMap<OutgoingRecord, Output>();
  return {
    ids: publisher.ids,
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

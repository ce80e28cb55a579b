import type { EventLog, LogRecord } from '../../packages/log/port.ts';
import type { TopicName } from '../../schemas/events/topics.ts';

/** Every record of a topic, in order per partition. */
export async function readTopic(log: EventLog, topic: TopicName): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = [];
  for await (const event of log.read({ topic, from: 'earliest', to: 'end' }))
    if (event.kind === 'record') records.push(event.record);
  return records;
}

export const jsonOf = ({ value }: LogRecord): unknown => JSON.parse(value?.toString('utf8') ?? 'null');

import type { LogRecord } from '../../../../../packages/log/port.ts';

/** A record as AWS Lambda gives it. */
export const lambdaRecord = ({ topic, partition, offset, timestampMs, key, value, headers }: LogRecord) => ({
  topic,
  partition,
  offset: Number(offset),
  timestamp: timestampMs,
  timestampType: 'LOG_APPEND_TIME',
  ...(key !== null && { key: Buffer.from(key).toString('base64') }),
  ...(value !== null && { value: value.toString('base64') }),
  headers: Object.entries(headers).map(([name, text]) => ({ [name]: [...Buffer.from(text)] })),
});

/** What Lambda is called with, the records of each partition in their order. */
export const lambdaEvent = (records: readonly LogRecord[]) => ({
  eventSource: 'SelfManagedKafka',
  bootstrapServers: 'kafka:9092',
  records: Object.fromEntries(
    [...Map.groupBy(records, ({ topic, partition }) => `${topic}-${partition}`)].map(
      ([name, ofPartition]) => [name, ofPartition.map(lambdaRecord)],
    ),
  ),
});

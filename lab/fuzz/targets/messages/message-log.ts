import type { LogReader, LogRecord, ReadEvent, ReadRequest } from '../../../../packages/log/port.ts';

/** A log of all topics with these records on it. */
export function logWith(...records: readonly LogRecord[]): LogReader {
  async function* read(request: ReadRequest): AsyncGenerator<ReadEvent, void> {
    for (const record of records) if (isAskedFor(record, request)) yield { kind: 'record', record };
    yield { kind: 'caught-up' };
  }
  return { read };
}

function isAskedFor(record: LogRecord, { topic, partition = record.partition, from }: ReadRequest): boolean {
  const fromMs = typeof from === 'object' && 'timestampMs' in from ? from.timestampMs : 0;
  return record.topic === topic && record.partition === partition && record.timestampMs >= fromMs;
}

import type { LogReader, LogRecord, ReadEvent } from '../../../../../packages/log/port.ts';

/** A log in memory that has these records. */
export const logInMemory = (records: readonly LogRecord[]): LogReader => ({
  async *read({ topic, partition, from }): AsyncGenerator<ReadEvent, void> {
    const fromMs = typeof from === 'object' && 'timestampMs' in from ? from.timestampMs : 0;
    for (const record of records)
      if (record.topic === topic && record.partition === partition && record.timestampMs >= fromMs)
        yield { kind: 'record', record };
    yield { kind: 'caught-up' };
  },
});

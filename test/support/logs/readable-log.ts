import type { LogReader, LogRecord, ReadEvent, ReadRequest } from '../../../packages/log/port.ts';
import { interrupted } from '../../../packages/log/stopping.ts';

/** One partition that can be read, and what of it was: `from-before` of each reading. */
export function readableLog(records: readonly LogRecord[]) {
  const readings: string[] = [];
  async function* read(request: ReadRequest, signal?: AbortSignal): AsyncGenerator<ReadEvent, void> {
    const { first, before } = boundsOf(request, records.length);
    readings.push(`${first}-${before}`);
    for (const record of records.filter(({ offset }) => offset >= first && offset < before)) {
      if (signal?.aborted) throw interrupted();
      yield { kind: 'record', record };
    }
    yield { kind: 'caught-up' };
  }
  const log: LogReader = { read };
  return { log, readings };
}

const boundsOf = ({ from, to }: ReadRequest, length: number) => ({
  first: typeof from === 'object' && 'offset' in from ? from.offset : 0n,
  before: typeof to === 'object' ? to.before : BigInt(length),
});

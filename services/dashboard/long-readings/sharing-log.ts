import { setImmediate } from 'node:timers/promises';
import type { NameIndex } from '../../../packages/archive/names.ts';
import type { EventLog } from '../../../packages/log/port.ts';

type Log = Pick<EventLog, 'read'>;

/** So long a reading may have the process to itself. */
const TURN_MS = 10;

/** The same log. Whoever reads it to its end lets others have their turn: somebody waits for an answer of this process. */
export const sharingLog = (log: Log): Log => ({
  async *read(request, signal) {
    let sinceMs = performance.now();
    for await (const event of log.read(request, signal)) {
      yield event;
      if (performance.now() - sinceMs < TURN_MS) continue;
      await setImmediate();
      sinceMs = performance.now();
    }
  },
});

/** The same index, and what it leaves to be read is read so. */
export const sharingIndex = (index: NameIndex): NameIndex => ({
  search: (search, signal) => index.search(search, signal),
  withinRange: (files, search, signal) => index.withinRange(files, search, signal),
  lastNames: (search, signal) => index.lastNames(search, signal),
  ofNodes: (keys) => sharingLog(index.ofNodes(keys)),
});

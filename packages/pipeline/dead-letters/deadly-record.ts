import type { LogRecord } from '../../event-log/port.ts';
import type { Handled } from '../handle-record.ts';

/** A process may end for many reasons while it has a message in hand; hardly twice over the same. */
const MOST_DEATHS = 2;

export const isDeadly = (deaths: number): boolean => deaths >= MOST_DEATHS;

/** It is given up, and not even parsed. */
export const passedOver = (record: LogRecord, deaths: number): Handled => ({
  record,
  stages: [],
  failure: {
    record,
    cause: 'process-died',
    message: `${deaths} processes ended while they had it in hand, so it is passed over`,
  },
  isOvertaken: false,
});

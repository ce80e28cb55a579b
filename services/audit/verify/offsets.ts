import type { LogRecord } from '../../../packages/event-log/port.ts';
import { type Findings, placeOf } from './findings.ts';

/** Follows the offsets of each topic: where some are left out, records are missing that nobody can say anything of. */
export function createOffsets(findings: Findings) {
  const last = new Map<string, LogRecord>();
  return {
    follow: (record: LogRecord): void => {
      const before = last.get(record.topic);
      last.set(record.topic, record);
      if (before === undefined || record.offset <= before.offset + 1n) return;
      const missing = record.offset - before.offset - 1n;
      findings.gap({
        kind: 'records-missing',
        message: `${missing} records of ${record.topic} are missing between two that are there`,
        node: null,
        places: [placeOf(before), placeOf(record)],
      });
    },
  };
}

import type { LogRecord } from '../../../packages/event-log/port.ts';
import { doubledMember, doubledText } from '../events/doubled-member.ts';
import { placeOf } from '../events/log-position.ts';
import type { Findings } from './findings.ts';

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

/** Tells of a record that has a member twice: JSON.parse takes the last of them, and other readers the first. */
export function tellDoubledMember(
  { deviation }: Pick<Findings, 'deviation'>,
  record: LogRecord,
  parsed: unknown,
): void {
  const name = record.value === null ? null : doubledMember(record.value, parsed);
  if (name === null) return;
  deviation({
    kind: 'doubled-member',
    message: doubledText(name),
    node: record.key,
    places: [placeOf(record)],
  });
}

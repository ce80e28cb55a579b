import type { LogRecord } from '../../../packages/event-log/port.ts';
import { isApprovalKey } from '../../../schemas/policy/approval.ts';
import { isPauseKey } from '../../../schemas/policy/policy.ts';

/** What a record of `gc.policies` changed there: `a pause began`. */
export function changeWords({ key, value }: Pick<LogRecord, 'key' | 'value'>): string {
  const state = stateNamed(key ?? '');
  if (state === null) return `policy ${key} ${value === null ? 'was deleted' : 'was changed'}`;
  return `${state} ${value === null ? 'ended' : 'began'}`;
}

function stateNamed(key: string): string | null {
  if (isApprovalKey(key)) return 'an approval';
  return isPauseKey(key) ? 'a pause' : null;
}

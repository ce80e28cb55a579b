import { isApprovalKey } from '../../../schemas/policy/approval.ts';
import { isPauseKey } from '../../../schemas/policy/policy.ts';

/** What a record of `gc.policies` changed there: `a pause began`. `stands`: whether it left anything under its key. */
export function changeWords({ key, stands }: { readonly key: string; readonly stands: boolean }): string {
  const state = stateNamed(key);
  if (state === null) return `policy ${key} ${stands ? 'was changed' : 'was deleted'}`;
  return `${state} ${stands ? 'began' : 'ended'}`;
}

function stateNamed(key: string): string | null {
  if (isApprovalKey(key)) return 'an approval';
  return isPauseKey(key) ? 'a pause' : null;
}

import type { StoredApproval } from '../../../packages/policy/stored-policies.ts';
import { approvedText, widthOf } from '../../../packages/read-model/holds.ts';
import { counted } from '../../../packages/text/counted.ts';
import { timeText } from '../../../packages/text/time-text.ts';

/** What was approved, and how long it holds. */
export const approvalLine = ({ cluster, what, untilMs, by, reason }: StoredApproval): string =>
  [
    `cluster ${cluster}: approved until ${timeText(untilMs)}: ${approvedText(what)}, ${counted(widthOf(what), 'object')}`,
    ...(by === '' ? [] : [`by ${by}`]),
    ...(reason === '' ? [] : [reason]),
  ].join(', ');

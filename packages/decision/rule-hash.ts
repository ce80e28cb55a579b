import type { OwnRule } from '../../schemas/policy/own-rule.ts';
import { contentHash } from '../canonical/ids.ts';

/** Of a rule as it is: an approval of what it takes is of this rule, and of none that it is changed to (cluster S7, S11). */
export const ruleSha256Of = (rule: OwnRule): string => contentHash(rule);

import { selectorText } from '../../../packages/policy/selector-text.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { tableLines } from '../../framework/output.ts';

/** One line per policy, the one that wins on a node first. */
export const policyTable = (policies: readonly Policy[]): readonly string[] =>
  tableLines(
    ['NAME', 'MODE', 'PRIORITY', 'IMAGES', 'NODES'],
    policies.map((policy) => [
      policy.name,
      policy.mode,
      String(policy.priority),
      `${policy.imageGCHighThresholdPercent}% to ${policy.imageGCLowThresholdPercent}%`,
      selectorText(policy.selector),
    ]),
  );

import type { Policy } from '../../schemas/policy.ts';
import { tableLines } from '../shared/output.ts';
import { selectorText } from './selector-text.ts';

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

import type { PolicySet } from '../../../schemas/policy/policy.ts';
import { policySet } from '../../decision/policy-set.ts';
import type { WrittenPolicy } from '../../policy/file/read-policy-file.ts';
import { toPolicyRecord } from '../../policy/policy-changes.ts';

/** Policies that hold alone. A simulation removes nothing, so that one that is to be tried may say dry-run. */
export const simulatedPolicies = (written: readonly WrittenPolicy[]): PolicySet =>
  policySet(
    'node',
    written.map(({ policy, source }) => toPolicyRecord({ policy: { ...policy, mode: 'enforce' }, source })),
    [],
  );

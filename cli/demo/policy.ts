import { readPolicyFiles, type WrittenPolicy } from '../../packages/policy/file/read-policy-file.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import type { Policy } from '../../schemas/policy/policy.ts';

/** The policy of the demo. Its ages are seconds, so that something happens while one watches. */
export const DEMO_POLICY = `name: demo
mode: enforce
imageGCHighThresholdPercent: 80     # begin to make room at 80 % used
imageGCLowThresholdPercent: 60      # and stop at 60 %
imageMinimumGCAge: 5s               # the kubelet's default is 2m
minimumCreatedContainerAge: 10s     # FleetGC's default is 5m
maximumDeadContainersPerContainer: 1
keep:
  images: ["registry.example/platform/*"]
`;

/** As `policy apply` reads it. */
export function demoPolicy(): { readonly policy: Policy; readonly written: readonly WrittenPolicy[] } {
  const files = readPolicyFiles([{ file: 'demo policy', text: DEMO_POLICY }]);
  const [first] = files.valid ? files.policies : [];
  if (!files.valid || !first) throw new FleetGcError('INTERNAL', 'the policy of the demo is not valid');
  return { policy: first.policy, written: files.policies };
}

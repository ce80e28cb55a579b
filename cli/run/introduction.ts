import type { PolicySet, SelectableNode } from '../../schemas/policy/policy.ts';
import { holdingNow } from './holding.ts';
import type { Settled } from './settle-policies.ts';

/** What `run` is about to do. */
export interface Introduction {
  readonly version: string;
  readonly node: SelectableNode;
  readonly runtime: string;
  readonly logPath: string;
  /** Files that the policies are from; none means the defaults. */
  readonly policyFiles: readonly string[];
  readonly policies: PolicySet;
  readonly deleted: Settled['deleted'];
}

/** Said once, before anything happens. */
export const introductionLines = (introduction: Introduction): readonly string[] => [
  `FleetGC ${introduction.version} on node ${introduction.node.node}`,
  `Container runtime: ${introduction.runtime}`,
  `Event log: ${introduction.logPath}`,
  ...introduction.deleted.map((name) => `Policy ${name} of an earlier run no longer holds.`),
  holdingNow(introduction).line,
  ...(introduction.policyFiles.length === 0
    ? ["No --policy was given: these are the kubelet's defaults, to see what they would do."]
    : []),
];

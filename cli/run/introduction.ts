import { selectorText } from '../../packages/policy/selector-text.ts';
import { type PolicySet, type SelectableNode, selectPolicy } from '../../schemas/policy/policy.ts';
import { resumeOnLog } from '../options/pause-options.ts';
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
  holdingLine(introduction),
  ...(introduction.policyFiles.length === 0
    ? ["No --policy was given: these are the kubelet's defaults, to see what they would do."]
    : []),
];

/** Which policy this node has, and whether anything can go. */
function holdingLine({ policies, node, logPath }: Introduction): string {
  const selection = selectPolicy(policies, node);
  switch (selection.kind) {
    case 'none':
      return 'No policy selects this node: nothing will be removed.';
    case 'paused': {
      const { selector, reason } = selection.pause;
      return `Paused (${selectorText(selector)}${reason === '' ? '' : `: ${reason}`}): nothing will be removed until "${resumeOnLog(selector, { log: 'embedded', logPath })}".`;
    }
    case 'policy': {
      const { name, mode } = selection.record.policy;
      return mode === 'enforce'
        ? `Policy ${name}: enforce. What it allows will be removed.`
        : `Policy ${name}: dry-run. Nothing will be removed.`;
    }
  }
}

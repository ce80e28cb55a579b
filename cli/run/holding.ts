import type { PolicySource } from '../../packages/policy/policies.ts';
import { selectorText } from '../../packages/policy/selector-text.ts';
import type { PolicySet } from '../../schemas/policy/policy.ts';
import { type SelectableNode, selectPolicy } from '../../schemas/policy/policy-selection.ts';
import { resumeOnEventLog } from '../options/pause-options.ts';

/** Which policy this node has, and whether anything can go. */
interface Holding {
  readonly isPaused: boolean;
  readonly line: string;
}

interface HoldingFor {
  readonly policies: PolicySet;
  readonly node: SelectableNode;
  readonly logPath: string;
}

export function holdingNow({ policies, node, logPath }: HoldingFor): Holding {
  const selection = selectPolicy(policies, node);
  switch (selection.kind) {
    case 'none':
      return { isPaused: false, line: 'No policy selects this node: nothing will be removed.' };
    case 'paused': {
      const { selector, reason } = selection.pause;
      const resume = resumeOnEventLog(selector, { log: 'embedded', logPath });
      return {
        isPaused: true,
        line: `Paused (${selectorText(selector)}${reason === '' ? '' : `: ${reason}`}): nothing will be removed until "${resume}".`,
      };
    }
    case 'policy': {
      const { name, mode } = selection.record.policy;
      return {
        isPaused: false,
        line:
          mode === 'enforce'
            ? `Policy ${name}: enforce. What it allows will be removed.`
            : `Policy ${name}: dry-run. Nothing will be removed.`,
      };
    }
  }
}

interface ChangesOf extends Omit<HoldingFor, 'policies'> {
  readonly policies: Pick<PolicySource, 'current' | 'problem'>;
  readonly print: (line: string) => void;
}

/**
 * Tells what another process changed since: decisions say it as well, but may come minutes later. What cannot be read is
 * told by them alone.
 */
export function holdingChanges({ policies, node, logPath, print }: ChangesOf): () => void {
  const look = (): Holding | null =>
    policies.problem() === null ? holdingNow({ policies: policies.current.node(), node, logPath }) : null;
  let reported = look();
  return () => {
    const now = look();
    if (now === null || now.line === reported?.line) return;
    print(reported?.isPaused && !now.isPaused ? `Not paused any more. ${now.line}` : now.line);
    reported = now;
  };
}

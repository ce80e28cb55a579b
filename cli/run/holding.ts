import { OWN_RULES } from '../../packages/decision/own-rules.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import { selectorText } from '../../packages/policy/selector-text.ts';
import { counted } from '../../packages/text/counted.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import type { PolicyRecordOf, PolicySetOf } from '../../schemas/policy/policy.ts';
import { type SelectableSubject, selectPolicy } from '../../schemas/policy/policy-selection.ts';
import { resumeOnEventLog } from '../options/pause-options.ts';

/** Which policy this subject has, and whether anything can go. */
interface Holding {
  readonly isPaused: boolean;
  readonly line: string;
}

interface HoldingFor<Kind extends SubjectKind> {
  readonly policies: PolicySetOf<Kind>;
  readonly subject: SelectableSubject<Kind>;
  readonly logPath: string;
}

/** What people are to know of a policy: what becomes of what it allows. */
const POLICY_TEXTS: { readonly [Kind in SubjectKind]: (record: PolicyRecordOf<Kind>) => string } = {
  node: ({ policy: { name, mode } }) =>
    mode === 'enforce'
      ? `Policy ${name}: enforce. What it allows will be removed.`
      : `Policy ${name}: dry-run. Nothing will be removed.`,
  cluster: ({ policy: { name, mode, collectors, rules = [] } }) => {
    if (mode === 'dry-run') return `Policy ${name}: dry-run. Nothing will be removed.`;
    const own = rules.length === 0 ? [] : [counted(rules.length, 'rule of its own', 'rules of its own')];
    const work = [...collectors, ...own];
    if (work.length === 0)
      return `Policy ${name}: ${mode}, and it gives FleetGC no collector and has no rules. Nothing will be removed.`;
    return mode === 'enforce'
      ? `Policy ${name}: enforce, for ${work.join(', ')}. What it allows will be removed.`
      : `Policy ${name}: rehearse, for ${work.join(', ')}. The API server is asked, and nothing will be removed.`;
  },
};

export function holdingNow<Kind extends SubjectKind>({
  policies,
  subject,
  logPath,
}: HoldingFor<Kind>): Holding {
  const selection = selectPolicy(policies, subject);
  switch (selection.kind) {
    case 'none':
      return {
        isPaused: false,
        line: `No policy selects this ${policies.subject}: nothing will be removed.`,
      };
    case 'too-costly':
      return { isPaused: false, line: `Nothing will be removed: ${OWN_RULES.P10}.` };
    case 'paused': {
      const { selector, reason } = selection.pause;
      const resume = resumeOnEventLog(selector, { log: 'embedded', logPath });
      return {
        isPaused: true,
        line: `Paused (${selectorText(selector)}${reason === '' ? '' : `: ${reason}`}): nothing will be removed until "${resume}".`,
      };
    }
    case 'policy':
      return { isPaused: false, line: POLICY_TEXTS[policies.subject](selection.record) };
  }
}

interface ChangesOf<Kind extends SubjectKind> extends Omit<HoldingFor<Kind>, 'policies'> {
  readonly policies: Pick<PolicySource, 'problem'>;
  readonly current: () => PolicySetOf<Kind>;
  readonly print: (line: string) => void;
}

/**
 * Tells what another process changed since: decisions say it as well, but may come minutes later. What cannot be read is
 * told by them alone.
 */
export function holdingChanges<Kind extends SubjectKind>({
  policies,
  current,
  subject,
  logPath,
  print,
}: ChangesOf<Kind>): () => void {
  const look = (): Holding | null =>
    policies.problem() === null ? holdingNow({ policies: current(), subject, logPath }) : null;
  let reported = look();
  return () => {
    const now = look();
    if (now === null || now.line === reported?.line) return;
    print(reported?.isPaused && !now.isPaused ? `Not paused any more. ${now.line}` : now.line);
    reported = now;
  };
}

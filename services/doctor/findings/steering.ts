import { resumeCommand } from '../../../packages/policy/ending-commands.ts';
import type { StoredPolicies } from '../../../packages/policy/stored-policies.ts';
import { counted } from '../../../packages/text/counted.ts';
import type { Selection } from '../../../schemas/policy/policy-selection.ts';
import { type Finding, type Looked, ok, problem, skipped, warning } from '../finding.ts';

export interface PolicyFacts extends Pick<StoredPolicies, 'unreadable' | 'lost'> {
  readonly selection: Selection<'node'>;
  /** How many policies for nodes there are. */
  readonly policies: number;
  /** Signatures count, and could not be looked at here. */
  readonly areSignaturesMissing: boolean;
}

const UNREADABLE = 'docs/operating/troubleshoot.md#a-record-of-gcpolicies-cannot-be-read says what to do.';

/** What makes every node hold; `null` where nothing does. */
export function unreadableFinding({
  unreadable,
  lost,
}: Pick<StoredPolicies, 'unreadable' | 'lost'>): Finding | null {
  const [first] = unreadable;
  if (first !== undefined)
    return problem(
      `${counted(unreadable.length, 'record')} of gc.policies cannot be read: ${first.message}`,
      UNREADABLE,
    );
  if (lost.length === 0) return null;
  return problem(
    `gc.policies has lost ${lost.join(', ')}, which nobody deleted.`,
    'Apply it again; until then nodes hold.',
  );
}

export function policyFinding(facts: Looked<PolicyFacts>): Finding {
  if (!facts.ok) return problem(facts.error.message, 'Nothing is removed while the policies cannot be read.');
  const { selection, policies, unreadable, lost, areSignaturesMissing } = facts.value;
  const unsigned = areSignaturesMissing
    ? ' (its signature was not looked at: this login may not read gc.policy-versions)'
    : '';
  const wrong = unreadableFinding({ unreadable, lost });
  if (wrong !== null) return wrong;
  switch (selection.kind) {
    case 'paused':
      return warning(
        `a pause holds: ${selection.pause.reason || 'no reason was given'}`,
        `Nothing is removed here until somebody ends it: ${resumeCommand(selection.pause.selector)}`,
      );
    case 'too-costly':
      return problem(
        'the choice of the policy takes more steps than it may, so everything is kept',
        'Shorten the lists of names in the selectors of policies and pauses: fleetgc policy list shows them.',
      );
    case 'none':
      return warning(
        policies === 0
          ? 'there is no policy'
          : `none of ${counted(policies, 'policy', 'policies')} selects this node`,
        'Without a policy everything is kept: fleetgc policy apply, or widen a selector (fleetgc policy effective says why none selects it).',
      );
    case 'policy': {
      const { name, mode } = selection.record.policy;
      if (mode === 'enforce') return ok(`${name}, mode enforce${unsigned}`);
      return warning(
        `${name}, mode ${mode}${unsigned}`,
        'Nothing is removed in this mode. To have it removed, apply the policy with mode: enforce.',
      );
    }
  }
}

export interface KeyFacts {
  /** A sentence each. */
  readonly problems: readonly string[];
  readonly keys: number;
}

/** `facts`: `null` where signatures are not looked at. */
export function keysFinding(
  trust: Looked<'off' | 'warn' | 'required'>,
  facts: Looked<KeyFacts> | null,
): Finding {
  if (!trust.ok) return problem(trust.error.message, 'The node does not start so (docs/operating/keys.md).');
  if (trust.value === 'off' || facts === null)
    return skipped(
      'Signatures are not looked at (--trust off): the access rules of Kafka alone say who may order what.',
    );
  if (!facts.ok) return problem(facts.error.message, 'Nothing counts while the keys cannot be read.');
  const { problems, keys } = facts.value;
  const seen = `--trust ${trust.value}, ${counted(keys, 'key')} that the roots vouch for`;
  if (problems.length === 0) return ok(seen);
  return (trust.value === 'required' ? problem : warning)(
    `${seen}: ${problems.join('; ')}`,
    'docs/operating/keys.md#what-each-refusal-means says what to do; fleetgc keys check looks again.',
  );
}

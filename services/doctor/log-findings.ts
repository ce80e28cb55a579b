import { type Right, type Role, rightsOf } from '../../packages/log/access/access-rules.ts';
import type { OwnRights } from '../../packages/log/access/own-rights.ts';
import type { TopicDifference } from '../../packages/log/port.ts';
import { differenceSentences } from '../../packages/log/topic-differences.ts';
import { resumeCommand } from '../../packages/policy/ending-commands.ts';
import type { StoredPolicies } from '../../packages/policy/stored-policies.ts';
import { MINUTE_MS } from '../../packages/process/durations.ts';
import type { ErrorCode } from '../../packages/process/errors.ts';
import { counted } from '../../packages/text/counted.ts';
import type { Selection } from '../../schemas/policy/policy-selection.ts';
import { type Finding, type Looked, ok, problem, skipped, warning } from './checks.ts';

/** For what needs the event log, where it is not reached. */
export const NOT_REACHED: Finding = skipped('The event log is not reached; see event-log.');

const TODO: Partial<Record<ErrorCode, string>> = {
  LOG_UNAUTHORIZED:
    'Give this process a login that the brokers take (docs/operating/install.md#who-may-do-what).',
  CONFIG_INVALID: 'Correct these settings: no process with them starts.',
  NOT_FOUND: 'Name the file of "fleetgc run" with --log-path, or start that.',
};

/** `prefix`: of the names on the brokers; empty: none. */
export function eventLogFinding(servers: Looked<readonly string[]>, prefix: string): Finding {
  if (!servers.ok)
    return problem(
      servers.error.message,
      TODO[servers.error.code] ??
        'Nothing is removed while the event log is away (docs/operating/troubleshoot.md#kafka-is-away).',
    );
  return ok(`${servers.value.join(', ')}${prefix && `, names with the prefix ${prefix}`}`);
}

const SEE_TOPICS =
  'See docs/operating/troubleshoot.md#topics-check-says-that-partitions-differ; "fleetgc topics create" makes what is missing.';

const SEE_COPIES = 'See docs/operating/install.md#setting-up-a-fleet.';

/** `rights`: `null` where there are no access rules, as on one machine, or nobody knows them. */
export function topicsFinding(
  differences: Looked<readonly TopicDifference[]>,
  rights: OwnRights | null,
  prefix: string,
): Finding {
  if (!differences.ok) {
    const { code, message } = differences.error;
    return code === 'LOG_UNAUTHORIZED' ? withoutSettings(rights, prefix) : problem(message, SEE_TOPICS);
  }
  const visible = differences.value.filter(({ topic }) => rights?.get(topic)?.kind !== 'hidden');
  if (visible.length === 0) return ok('as declared');
  const sentences = differenceSentences(visible).join(' ');
  if (visible.every(({ kind }) => kind === 'only-copy')) return warning(sentences, SEE_COPIES);
  const told = visible.some(({ kind }) => kind !== 'config' && kind !== 'only-copy') ? problem : warning;
  return told(sentences, SEE_TOPICS);
}

/** A login of a node may not read settings. */
function withoutSettings(rights: OwnRights | null, prefix: string): Finding {
  const missing = [...(rights ?? [])].flatMap(([topic, { kind }]) =>
    kind === 'missing' ? [`${prefix}${topic}`] : [],
  );
  if (missing.length > 0) return problem(`These topics are missing: ${missing.join(', ')}.`, SEE_TOPICS);
  return skipped(
    'This login may not read the settings of topics. "fleetgc topics check" compares them with the login of an operator.',
  );
}

/** What the brokers say that this login may do, and what its role needs. Nothing is tried. */
export function rightsFinding(role: Role, rights: Looked<OwnRights> | null, prefix: string): Finding {
  if (rights === null)
    return skipped('The embedded log has no access rules: the rights of its file say who may use it.');
  if (!rights.ok) return skipped(`The brokers do not say what this login may do: ${rights.error.message}`);
  const wanted = rightsOf(role).filter(({ resource }) => resource.type === 'topic');
  const lacking = wanted.filter((right) => !isAllowed(right, rights.value));
  if (lacking.length === 0)
    return ok(`all ${counted(wanted.length, 'right')} on topics that the role ${role} needs`);
  return problem(
    `This login may not ${lacking.map(({ operation, resource }) => `${operation} ${prefix}${resource.name}`).join(', ')}.`,
    `fleetgc topics acls${prefix && ` --kafka-prefix ${prefix}`} --${role}-principal User:NAME prints the rules that are needed; --apply adds them.`,
  );
}

/** What is missing nobody may use; whether it is there says another check. */
function isAllowed({ resource, operation }: Right, rights: OwnRights): boolean {
  const found = rights.get(resource.name);
  return found?.kind === 'missing' || (found?.kind === 'known' && found.operations.has(operation));
}

export interface ClockFacts {
  /** Epoch milliseconds by this machine, before the newest record was asked for. */
  readonly nowMs: number;
  /** Of the newest record that was found, by the clock of the event log; `null`: none. */
  readonly newestMs: number | null;
  /** How far an order shows that the node's clock was ahead of the event log's, when it told what was to go; `null`: none does. */
  readonly aheadMs?: number | null;
}

/** As elsewhere in FleetGC: facts wait for their batch, and for brokers that are away for a moment. */
export const CLOCK_TOLERANCE_MS = 5 * MINUTE_MS;

export function clockFinding(facts: Looked<ClockFacts>): Finding {
  if (!facts.ok) return skipped(`No record could be read to compare with: ${facts.error.message}`);
  const { nowMs, newestMs, aheadMs = null } = facts.value;
  if (aheadMs !== null && aheadMs > CLOCK_TOLERANCE_MS)
    return warning(
      `The newest order to this node answers what it told ${Math.round(aheadMs / MINUTE_MS)} min after the event log took the order, by its clock: the clock was ahead, or is.`,
      'Set the clock of this machine: let chrony or systemd-timesyncd do it. Ages of images and containers are wrong until then. Or that of the broker is wrong.',
    );
  if (newestMs === null)
    return skipped('No record that this login may read is young enough to compare with.');
  const behindMs = newestMs - nowMs;
  if (behindMs > CLOCK_TOLERANCE_MS)
    return problem(
      `The event log has a record that is ${Math.round(behindMs / MINUTE_MS)} min ahead of this clock.`,
      'Set the clock of this machine: let chrony or systemd-timesyncd do it. Or that of the broker is wrong.',
    );
  if (aheadMs !== null)
    return ok(`within ${CLOCK_TOLERANCE_MS / MINUTE_MS} min of the clock of the event log`);
  return ok(
    'not behind the clock of the event log; whether it is ahead only its own records tell (fleetgc nodes)',
  );
}

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

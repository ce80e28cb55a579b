import { deriveId } from '../../packages/canonical/ids.ts';
import { clusterSelectorText, selectorText } from '../../packages/policy/selector-text.ts';
import {
  type CandidatesFact,
  decidedAgain,
  type HeldObject,
  heldOf,
} from '../../packages/read-model/held-objects.ts';
import { type Hold, holdsOf } from '../../packages/read-model/holds.ts';
import { originalKey } from '../../packages/read-model/project.ts';
import { counted } from '../../packages/text/counted.ts';
import { printableLine } from '../../packages/text/printable.ts';
import { signedSizeText, sizeText } from '../../packages/text/size-text.ts';
import { timeText } from '../../packages/text/time-text.ts';
import type { Census } from '../../schemas/events/census.ts';
import { kindName } from '../../schemas/events/cluster-objects.ts';
import type { ClusterCommandResult, ClusterObjectResults } from '../../schemas/events/cluster-result.ts';
import type { DeadLetter, DeadLetterRedrive } from '../../schemas/events/dead-letter.ts';
import type { ClusterDeciderName } from '../../schemas/events/deciders.ts';
import type { Decision } from '../../schemas/events/decision.ts';
import { type ClusterIdentity, isNodeKey } from '../../schemas/events/identity.ts';
import type { Observe } from '../../schemas/events/observe.ts';
import type { Reclaim } from '../../schemas/events/reclaim.ts';
import type {
  CommandRefusal,
  CommandResult,
  Measured,
  PassFailed,
  PassProblem,
  PressureUnrelieved,
} from '../../schemas/events/result.ts';
import type { EventOf, FleetEvent } from '../../schemas/events/topics.ts';
import {
  MAX_NOTICE_FACT_LENGTH,
  MAX_NOTICE_TEXT_LENGTH,
  NOTICE_KIND_NAMES,
  type NoticeKind,
  type ToldNotice,
} from '../../schemas/notices/notice.ts';
import type { NoticeRule, NoticeRules } from '../../schemas/notices/notice-rules.ts';
import { type ApprovalRecord, approvedName, clusterOfApprovalKey } from '../../schemas/policy/approval.ts';
import type { ClusterPolicyRecord } from '../../schemas/policy/cluster-policy.ts';
import { GlobList } from '../../schemas/policy/glob.ts';
import {
  isPauseKey,
  type PolicyDeletion,
  type PolicyRecord,
  type PolicySetOf,
  selectorOfPauseKey,
} from '../../schemas/policy/policy.ts';
import { MAX_SELECTION_STEPS, Steps } from '../../schemas/policy/steps.ts';

/** What an event of the log has people told, whoever wants to hear of it. `atMs`: when the log took it. */
export function noticesOf(event: FleetEvent, atMs: number, known: Known): readonly Notice[] {
  const told: Told = { id: event.id, atMs };
  switch (event.type) {
    case 'fleetgc.node.observe':
      return ofOrder(event, told);
    case 'fleetgc.node.command-result':
      return ofCommandResult(event, told);
    case 'fleetgc.node.pass-failed':
      return ofPassFailed(event, told);
    case 'fleetgc.node.decision':
      return ofDecision(event, told);
    case 'fleetgc.node.pressure-unrelieved':
      return ofUnrelieved(event, told);
    case 'fleetgc.cluster.command-result':
      return ofClusterCommandResult(event, told);
    case 'fleetgc.cluster.object-results':
      return ofObjectResults(event, told, known);
    case 'fleetgc.cluster.ownership':
    case 'fleetgc.cluster.pods':
    case 'fleetgc.cluster.expiry':
      return ofCandidates(event, told, known);
    case 'fleetgc.cluster.census':
      return ofCensus(event, told, known);
    case 'fleetgc.pause':
    case 'fleetgc.approval':
    case 'fleetgc.policy-deletion':
    case 'fleetgc.policy':
    case 'fleetgc.cluster-policy':
      return ofPolicies(event, told);
    case 'fleetgc.dead-letter':
      return [ofDeadLetter(event, told)];
    case 'fleetgc.dead-letter-redrive':
      return [ofRedrive(event, told)];
    default:
      return [];
  }
}

/** Only the order that begins a reclaim: the others ask for its next look. */
function ofOrder(event: Observe, told: Told): readonly Notice[] {
  const { reclaim } = event;
  const { cause, step, round, actions, target } = reclaim;
  if (round !== 1 || step !== actions[0]) return [];
  return [
    notice('pressure', told, {
      about: aboutNode(event),
      text: `${cause.signal} met its threshold: it is at ${cause.reading}, and the threshold of policy ${cause.policy} is ${cause.threshold}. A reclaim began`,
      reason: 'ReclaimStarted',
      facts: {
        reclaim: reclaim.id,
        signal: cause.signal,
        reading: cause.reading,
        threshold: cause.threshold,
        policy: cause.policy,
        filesystem: target.filesystem,
      },
    }),
  ];
}

function ofCommandResult(event: CommandResult, told: Told): readonly Notice[] {
  const { result } = event;
  return result.outcome === 'refused' ? ofRefusal(event, result, told) : ofDone(event, result, told);
}

/** A refusal for any other reason is everyday: the command was late, or another one was newer. */
const DISTRUSTED: ReadonlySet<string> = new Set<CommandRefusal>(['not-trusted', 'malformed']);

function ofRefusal(
  event: CommandResult,
  { reason, message }: Extract<CommandResult['result'], { readonly outcome: 'refused' }>,
  told: Told,
): readonly Notice[] {
  if (!DISTRUSTED.has(reason)) return [];
  return [
    notice('distrusted', told, {
      about: aboutNode(event),
      text: `a command was refused (${reason}): ${message}`,
      facts: { command: event.commandId, reason },
    }),
  ];
}

const NOUNS: Readonly<Record<CommandResult['kind'], string>> = {
  'image-removal': 'image',
  'container-removal': 'object',
  unknown: 'object',
};

function ofDone(
  event: CommandResult,
  { removed, failed, measured }: Extract<CommandResult['result'], { readonly outcome: 'done' }>,
  told: Told,
): readonly Notice[] {
  if (removed === 0) return [];
  const freed = measured && freedBytes(measured);
  const space = freed === null ? '' : `, and ${signedSizeText(freed)} became available`;
  return [
    notice('removed', told, {
      about: aboutNode(event),
      text: `${counted(removed, `${NOUNS[event.kind]} was`, `${NOUNS[event.kind]}s were`)} removed${space}`,
      reason: 'GarbageCollected',
      facts: {
        command: event.commandId,
        removal: event.kind,
        removed,
        failed,
        freedBytes: freed === null ? null : String(freed),
      },
    }),
  ];
}

const freedBytes = ({ beforeBytes, afterBytes }: Measured): bigint =>
  BigInt(afterBytes) - BigInt(beforeBytes);

const PROBLEMS: Readonly<Record<PassProblem, EventReason>> = {
  'image-gc-failed': 'ImageGCFailed',
  'container-gc-failed': 'ContainerGCFailed',
  'free-disk-space-failed': 'FreeDiskSpaceFailed',
};

const ofPassFailed = (event: PassFailed, told: Told): readonly Notice[] => [
  notice('failed', told, {
    about: aboutNode(event),
    text: event.message,
    reason: PROBLEMS[event.problem],
    facts: {
      command: event.commandId,
      problem: event.problem,
      removed: event.removed,
      failed: event.failed,
    },
  }),
];

/** So many of what holds the space are named. */
const MOST_HOLDERS = 3;

function ofUnrelieved(event: PressureUnrelieved, told: Told): readonly Notice[] {
  const { reclaim, availableNow, holders } = event;
  const { cause, target } = reclaim;
  const now = availableNow === null ? 'what is left could not be measured' : amount(target, availableNow);
  const held = holders
    .toSorted((a, b) => b.bytes - a.bytes)
    .slice(0, MOST_HOLDERS)
    .map(({ reason, objects, bytes }) => `${reason} ${objects} (${sizeText(BigInt(bytes))})`);
  const by = held.length === 0 ? '' : `. What holds the space: ${held.join(', ')}`;
  return [
    notice('unrelieved', told, {
      about: aboutNode(event),
      text: `a reclaim for ${cause.signal} ended above its target: ${target.filesystem} has ${now}, and should have ${amount(target, target.atLeast)}${by}`,
      reason: 'FreeDiskSpaceFailed',
      facts: {
        reclaim: reclaim.id,
        signal: cause.signal,
        filesystem: target.filesystem,
        resource: target.resource,
        available: availableNow,
        target: target.atLeast,
      },
    }),
  ];
}

const amount = ({ resource }: Reclaim['target'], value: string): string =>
  resource === 'availableBytes' ? sizeText(BigInt(value)) : `${value} free inodes`;

/** Each inventory leads to it again while the policy is as it is. */
function ofDecision({ outcome, policy, decider, ...event }: Decision, told: Told): readonly Notice[] {
  if (outcome !== 'too-costly') return [];
  const under = policy === null ? '' : ` under policy ${policy.name}`;
  return [
    notice('too-costly', told, {
      about: aboutNode(event),
      text: `${decider.name} decided nothing${under}: the decision would take too many steps, so everything is kept. fleetgc status tells on which nodes, and fleetgc audit explain what the decision said${NOT_PROVED}`,
      facts: { decider: decider.name, policy: policy?.name ?? null },
      onceKey: `too-costly ${event.cluster}/${event.node} ${decider.name}`,
    }),
  ];
}

/** Of one event so many holds are told apart; "fleetgc held" has all. */
const MOST_HOLDS = 20;

function ofClusterCommandResult(event: ClusterCommandResult, told: Told): readonly Notice[] {
  const { result, commandId } = event;
  const about = aboutCluster(event);
  if (result.outcome === 'refused') {
    if (!DISTRUSTED.has(result.reason)) return [];
    const text = `a command was refused (${result.reason}): ${result.message}`;
    return [
      notice('distrusted', told, { about, text, facts: { command: commandId, reason: result.reason } }),
    ];
  }
  const { removed = 0, accepted = 0, failed = 0 } = result.counts;
  const facts = { command: commandId, removed, accepted, failed };
  const going = accepted === 0 ? '' : `, and ${counted(accepted, 'is', 'are')} being deleted`;
  return [
    ...(removed + accepted === 0
      ? []
      : [
          notice('objects-removed', told, {
            about,
            text: `${counted(removed, 'object was', 'objects were')} removed${going}`,
            facts,
          }),
        ]),
    ...(failed === 0
      ? []
      : [
          notice('objects-failed', told, {
            about,
            text: `${counted(failed, 'removal')} failed; fleetgc audit explain tells why of an object`,
            facts,
          }),
        ]),
  ];
}

/** What the active policies hold of the candidates of a fact, together by what would let them go. Decisions tell nobody: no key signs them. */
function ofCandidates(event: CandidatesFact, told: Told, { policies, isSigned }: Known): readonly Notice[] {
  if (policies === null) return [];
  const conclusion = decidedAgain(event, policies, told.atMs);
  if (conclusion?.outcome === 'too-costly') return [ofTooCostly(event, { told, isSigned })];
  return ofHolds(event, heldOf(event, conclusion, told.atMs), { told, isSigned });
}

const DECIDES = {
  'fleetgc.cluster.ownership': 'graph-gc',
  'fleetgc.cluster.pods': 'pod-gc',
  'fleetgc.cluster.expiry': 'expiry-gc',
} as const satisfies Readonly<Record<CandidatesFact['type'], ClusterDeciderName>>;

function ofTooCostly({ type, cluster }: CandidatesFact, { told, isSigned }: Telling): Notice {
  const decider = DECIDES[type];
  return notice('too-costly', told, {
    about: aboutCluster({ cluster }),
    text: `${decider} decides nothing: the decision would take too many steps, so everything is kept. fleetgc status tells on which clusters${isSigned ? '' : NOT_PROVED}`,
    facts: { decider },
    onceKey: `too-costly ${cluster} ${decider}`,
  });
}

/** What the executor found to be held that no decision knew of. */
function ofObjectResults(
  event: ClusterObjectResults,
  told: Told,
  { isSigned }: Pick<Known, 'isSigned'>,
): readonly Notice[] {
  const held = event.objects.flatMap(({ object, result }): HeldObject[] =>
    result.outcome === 'refused' && result.hold !== undefined
      ? [
          {
            object,
            topic: 'clusterOwnership',
            verdict: result.hold,
            sinceMs: told.atMs,
            lastMs: told.atMs,
          },
        ]
      : [],
  );
  return ofHolds(event, held, { told, isSigned });
}

interface Telling {
  readonly told: Told;
  readonly isSigned: boolean;
}

const ofHolds = (event: ClusterIdentity, held: readonly HeldObject[], telling: Telling): readonly Notice[] =>
  holdsOf(held)
    .slice(0, MOST_HOLDS)
    .map((hold) => ofHold(event, hold, telling));

function ofHold(
  { cluster, clusterInstance }: ClusterIdentity,
  { rule, what, why, objects }: Hold,
  { told, isSigned }: Telling,
): Notice {
  const name = what === null ? null : approvedName(what);
  const key = JSON.stringify([clusterInstance, rule, what?.kind ?? null, name]);
  const by = what?.kind === 'owner' ? `${what.ownerKind} ${what.namespace}/${what.name}` : name;
  return notice('held', told, {
    about: aboutCluster({ cluster }),
    text: `${counted(objects, 'object is', 'objects are')} held by rule ${rule}${by === null ? '' : ` because of ${by}`}: ${why}. fleetgc held tells how to let them go${isSigned ? '' : NOT_PROVED}`,
    facts: { rule, because: by, objects },
    part: key,
    onceKey: `held ${cluster} ${key}`,
  });
}

const ofCensus = (event: Census, told: Told, { isSigned }: Pick<Known, 'isSigned'>): readonly Notice[] =>
  event.findings.stuckFinalizers.first.map(({ object, deletionTimestamp, finalizers }) => {
    const { namespace, name, uid } = object;
    const named = namespace === '' ? name : `${namespace}/${name}`;
    return notice('stuck', told, {
      about: aboutCluster(event),
      text: `${kindName(object)} ${named} is being deleted since ${deletionTimestamp} and waits for the finalizers ${finalizers.join(', ')}${isSigned ? '' : NOT_PROVED}`,
      facts: { kind: kindName(object), namespace, name, uid, deletionTimestamp },
      part: uid,
      onceKey: `stuck ${event.cluster} ${uid}`,
    });
  });

function ofPolicies(event: EventOf<'policies'>, told: Told): readonly Notice[] {
  switch (event.type) {
    case 'fleetgc.pause':
      return [
        notice('paused', told, {
          about: ABOUT_NOBODY,
          text: `${whoText(event.by)} paused removals on ${selectorText(event.selector)}: ${reasonText(event.reason)}`,
          facts: { by: event.by ?? null, reason: event.reason },
        }),
      ];
    case 'fleetgc.approval':
      return [ofApproval(event, told)];
    case 'fleetgc.policy-deletion':
      return ofDeletion(event, told);
    case 'fleetgc.policy':
    case 'fleetgc.cluster-policy':
      return [ofPolicy(event, told)];
  }
}

const reasonText = (reason = ''): string => (reason === '' ? 'no reason was given' : reason);
const whoText = (by = ''): string => (by === '' ? 'somebody' : by);

function ofApproval(event: ApprovalRecord, told: Told): Notice {
  const { what, by, reason, untilMs } = event;
  return notice('approved', told, {
    about: aboutCluster(event),
    text: `${whoText(by)} approved ${what.kind} ${approvedName(what)} until ${timeText(untilMs)}: ${reasonText(reason)}`,
    facts: { what: what.kind, name: approvedName(what), by, reason },
  });
}

/** One that ended nothing tells nothing. */
function ofDeletion({ key, wasHeld, by, reason }: PolicyDeletion, told: Told): readonly Notice[] {
  if (!wasHeld) return [];
  const facts = { key, by: by ?? null, reason: reason ?? null };
  const why = `: ${reasonText(reason)}`;
  if (isPauseKey(key)) {
    const selector = selectorOfPauseKey(key);
    const where = selector === null ? key : selectorText(selector);
    const text = `${whoText(by)} ended the pause on ${where}${why}`;
    return [notice('resumed', told, { about: ABOUT_NOBODY, text, facts })];
  }
  const cluster = clusterOfApprovalKey(key);
  if (cluster !== null) {
    const text = `${whoText(by)} withdrew an approval${why} (${key})`;
    return [notice('approval-withdrawn', told, { about: aboutCluster({ cluster }), text, facts })];
  }
  const text = `${whoText(by)} deleted policy ${key}; what no other policy selects keeps everything${why}`;
  return [notice('policy-deleted', told, { about: ABOUT_NOBODY, text, facts })];
}

function ofPolicy(event: PolicyRecord | ClusterPolicyRecord, told: Told): Notice {
  const { name, mode } = event.policy;
  const where =
    event.type === 'fleetgc.policy'
      ? selectorText(event.policy.selector)
      : clusterSelectorText(event.policy.selector);
  return notice('policy-applied', told, {
    about: ABOUT_NOBODY,
    text: `policy ${name} was applied for ${where}: version ${event.policyVersion}, mode ${mode}`,
    facts: { policy: name, version: event.policyVersion, mode, hash: event.hash },
  });
}

function ofDeadLetter(event: DeadLetter, told: Told): Notice {
  const { topic, group, cause, message, suppressedBefore } = event;
  const more = suppressedBefore === 0 ? '' : `, and ${suppressedBefore} more like it before`;
  return notice('dead-letter', told, {
    about: aboutKey(event),
    text: `a message on ${topic} could not be processed by ${group} (${cause}): ${message}${more}`,
    facts: { deadLetter: event.id, topic, group, cause },
  });
}

const ofRedrive = (event: DeadLetterRedrive, told: Told): Notice =>
  notice('redriven', told, {
    about: aboutKey(event),
    text: `${event.by ?? 'somebody'} put the message of dead letter ${event.deadLetterId} back${event.reason === undefined ? '' : `: ${event.reason}`}`,
    facts: { deadLetter: event.deadLetterId, by: event.by ?? null, reason: event.reason ?? null },
  });

/** Whoever may write dead letters may write anything into one. */
function aboutKey(letter: Pick<DeadLetter, 'key'>): ReturnType<typeof aboutNode> {
  const key = originalKey(letter) ?? '';
  if (!isNodeKey(key)) return ABOUT_NOBODY;
  const [cluster = '', node = ''] = key.split('/');
  return aboutNode({ cluster, node });
}

/** Reasons of the Events on a Node, those of failures by the kubelet's own names. */
export type EventReason =
  | 'ReclaimStarted'
  | 'GarbageCollected'
  | 'ImageGCFailed'
  | 'ContainerGCFailed'
  | 'FreeDiskSpaceFailed';

/** What people are to be told, whoever they are. */
export interface Notice extends Pick<ToldNotice, 'id' | 'kind' | 'cluster' | 'node' | 'text' | 'facts'> {
  /** Epoch milliseconds, by the event log's clock. */
  readonly atMs: number;
  /** As an Event on the node it is about; `null` where it becomes none. */
  readonly reason: EventReason | null;
  /** What the log tells again and again: it is told once in a while. `null`: it is told each time. */
  readonly onceKey: string | null;
}

/** The event that led to a notice, and when the log took it. */
interface Told {
  readonly id: string;
  readonly atMs: number;
}

/** What is known beside the event. */
export interface Known {
  /** Those that are active; `null` where nobody follows them, or they cannot be read. */
  readonly policies: PolicySetOf<'cluster'> | null;
  /** A key signed the event that may. */
  readonly isSigned: boolean;
}

/** Whom it is about. */
interface About {
  readonly cluster: string | null;
  readonly node: string | null;
}

export const ABOUT_NOBODY: About = { cluster: null, node: null };
const aboutNode = ({ cluster, node }: { readonly cluster: string; readonly node: string }): About => ({
  cluster,
  node,
});
const aboutCluster = ({ cluster }: { readonly cluster: string }): About => ({ cluster, node: null });

/** `<cluster>/<node>` or `<cluster>`; `null` for what is about neither. */
export const subjectOf = ({ cluster, node }: About): string | null =>
  cluster !== null && node !== null ? `${cluster}/${node}` : cluster;

/** No signature was checked, or there was none. */
const NOT_PROVED = '. No signature proves this';

interface Saying {
  readonly about: About;
  readonly text: string;
  readonly facts?: Notice['facts'];
  readonly reason?: EventReason;
  readonly onceKey?: string;
  /** Where one event leads to several notices of a kind. */
  readonly part?: string;
}

/**
 * The id follows from that of the event, so that the same has the same id whenever it is told again. Throws `RangeError` for a time that no
 * calendar has.
 */
export function notice(kind: NoticeKind, { id, atMs }: Told, saying: Saying): Notice {
  const { about, text, facts = {}, reason = null, onceKey = null, part } = saying;
  const subject = subjectOf(about);
  requireCalendarTime(atMs);
  return {
    id: deriveId('notice', kind, id, ...(part === undefined ? [] : [part])),
    kind,
    atMs,
    ...about,
    text: oneLine(subject === null ? text : `${subject}: ${text}`, MAX_NOTICE_TEXT_LENGTH),
    facts: Object.fromEntries(
      Object.entries(facts).map(([name, value]) => [
        name,
        typeof value === 'string' ? oneLine(value, MAX_NOTICE_FACT_LENGTH) : value,
      ]),
    ),
    reason,
    onceKey,
  };
}

function requireCalendarTime(atMs: number): void {
  if (Number.isNaN(new Date(atMs).getTime())) throw new RangeError(`no calendar has the time ${atMs} ms`);
}

/** A text of somebody else may have any length, and anything in it: what is cut away is not looked at. */
const oneLine = (text: string, most: number): string => cut(printableLine(cut(text, most)), most);

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1)}…`.toWellFormed();

/** Which notices a rule lets through. */
export interface MatchingRule {
  readonly name: string;
  readonly kinds: readonly NoticeKind[];
  readonly mostPerMinute: number;
  readonly matches: (notice: Notice, steps: Steps) => boolean;
}

/** The rules that lead to a receiver, in the order of the file. */
export const rulesTo = ({ rules }: NoticeRules, receiver: string): readonly MatchingRule[] =>
  rules.filter(({ to }) => to.includes(receiver)).map(matchingRule);

function matchingRule({
  name,
  kinds = NOTICE_KIND_NAMES,
  clusters,
  nodes,
  atMostPerMinute,
}: NoticeRule): MatchingRule {
  const wanted: ReadonlySet<NoticeKind> = new Set(kinds);
  const ofCluster = anyOf(clusters);
  const ofNode = anyOf(nodes);
  return {
    name,
    kinds,
    mostPerMinute: atMostPerMinute,
    matches: ({ kind, cluster, node }, steps) =>
      wanted.has(kind) && ofCluster(cluster, steps) && ofNode(node, steps),
  };
}

function anyOf(globs: readonly string[] | undefined): (name: string | null, steps: Steps) => boolean {
  if (globs === undefined) return () => true;
  const list = GlobList.of(globs);
  return (name, steps) => name !== null && list.matches(name, steps);
}

/**
 * The first rule that wants it, so that a receiver hears of nothing twice. A file whose rules could take more steps for all receivers
 * together is refused when it is read.
 */
export const ruleFor = (
  rules: readonly MatchingRule[],
  notice: Notice,
  steps = new Steps(MAX_SELECTION_STEPS),
): MatchingRule | undefined => rules.find(({ matches }) => matches(notice, steps));

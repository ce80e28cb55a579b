import { counted } from '../../../packages/text/counted.ts';
import { signedSizeText, sizeText } from '../../../packages/text/size-text.ts';
import type { Decision } from '../../../schemas/events/decision.ts';
import type { Observe } from '../../../schemas/events/observe.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type {
  CommandRefusal,
  CommandResult,
  Measured,
  PassFailed,
  PassProblem,
  PressureUnrelieved,
} from '../../../schemas/events/result.ts';
import { aboutNode, type EventReason, NOT_PROVED, type Notice, notice, type Told } from '../notice.ts';

/** Only the order that begins a reclaim: the others ask for its next look. */
export function ofOrder(event: Observe, told: Told): readonly Notice[] {
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

export function ofCommandResult(event: CommandResult, told: Told): readonly Notice[] {
  const { result } = event;
  return result.outcome === 'refused' ? ofRefusal(event, result, told) : ofDone(event, result, told);
}

/** A refusal for any other reason is everyday: the command was late, or another one was newer. */
export const DISTRUSTED: ReadonlySet<string> = new Set<CommandRefusal>(['not-trusted', 'malformed']);

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

export const ofPassFailed = (event: PassFailed, told: Told): readonly Notice[] => [
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

export function ofUnrelieved(event: PressureUnrelieved, told: Told): readonly Notice[] {
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
export function ofDecision({ outcome, policy, decider, ...event }: Decision, told: Told): readonly Notice[] {
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

import type { ListedContainer, ListedImage, ListedSandbox } from '../../../packages/cri/listing-types.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { backingOff } from './backoff.ts';
import {
  activePod,
  askForPods,
  commandRefusal,
  containerRefusal,
  imageRefusal,
  NO_POLICY,
  overtaken,
  type PodsNow,
  podReturnRefusal,
  type Restrictions,
  sandboxRefusal,
} from './checks.ts';
import type { PodLogAccess } from './executor.ts';
import type { FactsReading, RuntimeFacts } from './facts.ts';
import { removalsInLastHour } from './local-rules.ts';
import type { OwnPlan } from './own-plan.ts';
import { isPodLogEntryGone } from './pod-logs.ts';
import { type Attempt, NOT_FOUND, refused } from './remove.ts';
import type { Refusal } from './reports.ts';

export interface JudgeTools {
  readonly clock: NodeClock;
  readonly readFacts: () => Promise<FactsReading>;
  readonly podsNow: PodsNow | null;
  /** Read anew each time. */
  readonly restrictions: () => Promise<Restrictions>;
  readonly podLogs: PodLogAccess;
}

/** An object that may go, and the facts by which it may; or what came of it without a removal. */
export type Judgement =
  | {
      readonly mayGo: true;
      readonly object: Removable;
      readonly reading: Extract<FactsReading, { ok: true }>;
    }
  | { readonly mayGo: false; readonly attempt: Attempt };

/**
 * Judges one object of a command by facts of this moment. The command only names it: all else that is said of it comes
 * from this node's own plan. Never rejects, and has no effect.
 */
export async function judgeObject(
  command: Command,
  named: CommandItem,
  plan: Pick<OwnPlan, 'itemOf'>,
  tools: JudgeTools,
): Promise<Judgement> {
  const early = refusalBeforeLook(command, named, await tools.restrictions(), tools.clock.now());
  if (early) return stays(refused(early));
  const own = plan.itemOf(named);
  return 'reason' in own ? judgeKept(command, named, own, tools) : judgePlanned(command, own, tools);
}

async function judgePlanned(command: Command, item: CommandItem, tools: JudgeTools): Promise<Judgement> {
  const pods = await askForPods(item, tools.podsNow, tools.clock.now);
  const looked = await lookNow(command, item, tools);
  if (!looked.mayGo) return looked;
  const { listing } = looked.reading.facts;
  const refusal = podReturnRefusal(looked.object, pods, listing, tools.clock.now());
  return refusal ? stays(refused(refusal)) : looked;
}

/** What this node keeps may be gone by now, or stay for a reason that tells more. */
async function judgeKept(
  command: Command,
  named: CommandItem,
  kept: Refusal,
  tools: JudgeTools,
): Promise<Judgement> {
  const looked = await lookNow(command, named, tools);
  if (!looked.mayGo) return looked;
  // Of entries of log directories the look does not tell that they are gone (M31).
  const isGone = isPodLogEntry(named) && (await isPodLogEntryGone(named.kind, named.id, tools.podLogs));
  return stays(isGone ? NOT_FOUND : refused(kept));
}

async function lookNow(command: Command, item: CommandItem, tools: JudgeTools): Promise<Judgement> {
  const reading = await tools.readFacts();
  if (!reading.ok) return stays(refused({ reason: 'runtime-unavailable', message: reading.message }));
  // Last: a kubelet or a runtime that takes its time lets nothing go that was forbidden meanwhile.
  const restrictions = await tools.restrictions();
  const verdict = secondLook(command, item, reading.facts, { restrictions, now: tools.clock.now() });
  switch (verdict.action) {
    case 'remove':
      return { mayGo: true, object: verdict.object, reading };
    case 'none':
      return stays(NOT_FOUND);
    case 'refuse':
      return stays(refused(verdict.refusal));
  }
}

const stays = (attempt: Attempt): Judgement => ({ mayGo: false, attempt });

export type Verdict =
  | { readonly action: 'remove'; readonly object: Removable }
  /** It is gone already, which is what was wanted (M31). */
  | { readonly action: 'none' }
  | { readonly action: 'refuse'; readonly refusal: Refusal };

/** What can be refused before the runtime is asked. */
const refusalBeforeLook = (
  command: Command,
  item: CommandItem,
  restrictions: Restrictions,
  now: Instant,
): Refusal | undefined =>
  commandRefusal(command, restrictions, now) ??
  overtaken(command, item.kind, restrictions.lastActions) ??
  triedLately(item, restrictions, now) ??
  rateLimited(restrictions, now);

/** The second look at one object: it takes away from what the command says and never adds to it. */
export function secondLook(
  command: Command,
  item: CommandItem,
  facts: RuntimeFacts,
  { restrictions, now }: { readonly restrictions: Restrictions; readonly now: Instant },
): Verdict {
  const { policy } = restrictions;
  const refusal = refusalBeforeLook(command, item, restrictions, now);
  if (refusal) return { action: 'refuse', refusal };
  if (policy.kind !== 'enforced') return { action: 'refuse', refusal: NO_POLICY };
  return lookAt(item, { command, facts, restrictions, policy: policy.record.policy, now });
}

interface Looking {
  readonly command: Command;
  readonly facts: RuntimeFacts;
  readonly restrictions: Restrictions;
  readonly policy: Policy;
  readonly now: Instant;
}

/** Entries of log directories themselves are looked at when they are removed. */
function lookAt(item: CommandItem, looking: Looking): Verdict {
  switch (item.kind) {
    case 'container':
      return lookAtContainer(item, looking);
    case 'sandbox':
      return lookAtSandbox(item, looking);
    case 'pod-log-directory': {
      const { kind, id: name, podUid } = item;
      return verdict(activePod(podUid, looking.facts.listing), { kind, name, podUid });
    }
    case 'log-symlink':
      return { action: 'remove', object: { kind: item.kind, name: item.id } };
    case 'image':
      return lookAtImage(item, looking);
  }
}

function lookAtContainer({ kind, id }: ItemOf<'container'>, { facts, ...looking }: Looking): Verdict {
  const container = facts.listing.containers.find((listed) => listed.id === id);
  if (!container) return { action: 'none' };
  return verdict(containerRefusal(container, looking.command, looking), { kind, container });
}

function lookAtSandbox({ kind, id }: ItemOf<'sandbox'>, { command, facts: { listing } }: Looking): Verdict {
  const sandbox = listing.sandboxes.find((listed) => listed.id === id);
  if (!sandbox) return { action: 'none' };
  return verdict(sandboxRefusal(sandbox, command, listing), { kind, sandbox });
}

function lookAtImage({ kind, id }: ItemOf<'image'>, looking: Looking): Verdict {
  const { command, facts, restrictions, policy } = looking;
  const { listing, usage, history } = facts;
  const image = listing.images.find((listed) => listed.id === id);
  if (!image) return { action: 'none' };
  const { local } = restrictions;
  return verdict(imageRefusal(image, command, { usage, history, local, keep: policy.keep }), {
    kind,
    image,
  });
}

const verdict = (refusal: Refusal | undefined, object: Removable): Verdict =>
  refusal ? { action: 'refuse', refusal } : { action: 'remove', object };

function triedLately(item: CommandItem, { backoff }: Restrictions, now: Instant): Refusal | undefined {
  const entry = backingOff(backoff, item, now.wallTimeMs);
  if (!entry) return undefined;
  const message = `it failed to go ${entry.failures} times and is left alone until ${new Date(entry.untilMs).toISOString()}`;
  return { reason: 'backing-off', message };
}

function rateLimited({ local, removalRate }: Restrictions, now: Instant): Refusal | undefined {
  if (local.kind === 'held' || local.maxRemovalsPerHour === null) return undefined;
  const removals = removalsInLastHour(removalRate, now);
  if (removals !== null && removals < local.maxRemovalsPerHour) return undefined;
  const how = removals === null ? 'nobody knows how many removals (journal lost)' : `${removals} removals`;
  const message = `${how} in the last hour; the node's own file allows ${local.maxRemovalsPerHour}`;
  return { reason: 'rate-limited', message };
}

/** One object that a command names. */
export type CommandItem = Command['items'][number];
type ItemOf<Kind extends ObjectKind> = Extract<CommandItem, { kind: Kind }>;
type PodLogItem = ItemOf<'pod-log-directory' | 'log-symlink'>;

/** Whether it is an entry of a log directory, of which the runtime knows nothing. */
export function isPodLogEntry(item: CommandItem): item is PodLogItem {
  switch (item.kind) {
    case 'pod-log-directory':
    case 'log-symlink':
      return true;
    case 'container':
    case 'sandbox':
    case 'image':
      return false;
  }
}

/** A listed object that may go. */
export type Removable =
  | { readonly kind: 'image'; readonly image: ListedImage }
  | { readonly kind: 'container'; readonly container: ListedContainer }
  | { readonly kind: 'sandbox'; readonly sandbox: ListedSandbox }
  | PodLogDirectory
  | { readonly kind: 'log-symlink'; readonly name: string };

interface PodLogDirectory {
  readonly kind: 'pod-log-directory';
  readonly name: string;
  readonly podUid: string;
}

/** As people search for it in a log; nobody knows an id. */
export function nameOf(object: Removable): string {
  switch (object.kind) {
    case 'image': {
      const { repoTags, repoDigests, id } = object.image;
      return repoTags[0] ?? repoDigests[0] ?? id;
    }
    case 'container': {
      const { labels, name, attempt } = object.container;
      return `${podOf(labels)}/${name}#${attempt}`;
    }
    case 'sandbox': {
      const { podNamespace, podName, attempt } = object.sandbox;
      return `${podNamespace}/${podName}#${attempt}`;
    }
    case 'pod-log-directory':
    case 'log-symlink':
      return object.name;
  }
}

const podOf = (labels: ListedContainer['labels']): string =>
  `${labels['io.kubernetes.pod.namespace'] ?? ''}/${labels['io.kubernetes.pod.name'] ?? ''}`;

import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { backingOff } from './backoff.ts';
import {
  activePod,
  askForPods,
  type CommandItem,
  commandRefusal,
  containerRefusal,
  type ItemOf,
  imageRefusal,
  isPodLogEntry,
  NO_POLICY,
  overtaken,
  type PodsNow,
  podReturnRefusal,
  type Removable,
  type Restrictions,
  sandboxRefusal,
} from './checks.ts';
import { isFresh, type KnownFacts, type ReadFacts, type RuntimeFacts } from './facts.ts';
import { removalsInLastHour } from './local-rules.ts';
import type { OwnPlan } from './own-plan.ts';
import { isPodLogEntryGone, type PodLogAccess } from './pod-logs.ts';
import type { Refusal } from './reports.ts';

/** Why there is nothing to remove: it is gone already, which is what was wanted (M31), or it stays. */
export type Stays = { readonly outcome: 'not-found' } | ({ readonly outcome: 'refused' } & Refusal);

export const NOT_FOUND: Stays = { outcome: 'not-found' };

export const refused = (refusal: Refusal): Stays => ({ outcome: 'refused', ...refusal });

/** An object that may go, and the facts by which it may. */
export interface MayGo {
  readonly outcome: 'may-go';
  readonly object: Removable;
  readonly reading: KnownFacts;
}

export type Judgement = MayGo | Stays;

interface Sources {
  readonly clock: NodeClock;
  readonly readFacts: ReadFacts;
  readonly podsNow: PodsNow | null;
  /** Read anew each time. */
  readonly restrictions: () => Promise<Restrictions>;
  readonly podLogs: PodLogAccess;
}

/**
 * Judges objects of a command by facts of this moment. The command only names an object: all else that is said of it
 * comes from this node's own plan. Every check may only take away.
 */
export class Judge {
  readonly #sources: Sources;

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** Never rejects, and has no effect. */
  async judge(command: Command, named: CommandItem, plan: OwnPlan): Promise<Judgement> {
    const { clock, restrictions } = this.#sources;
    const early = refusalBeforeLook(command, named, await restrictions(), clock.now());
    if (early) return refused(early);
    const own = plan.itemOf(named);
    return 'reason' in own ? this.#judgeKept(command, named, own) : this.#judgePlanned(command, own);
  }

  async #judgePlanned(command: Command, item: CommandItem): Promise<Judgement> {
    const { clock, podsNow } = this.#sources;
    const pods = await askForPods(item, podsNow, clock.now);
    const looked = await this.#look(command, item);
    if (looked.outcome !== 'may-go') return looked;
    const { listing } = looked.reading.facts;
    const refusal = podReturnRefusal(looked.object, pods, listing, clock.now());
    return refusal ? refused(refusal) : looked;
  }

  /** What this node keeps may be gone by now, or stay for a reason that tells more. */
  async #judgeKept(command: Command, named: CommandItem, kept: Refusal): Promise<Judgement> {
    const looked = await this.#look(command, named);
    if (looked.outcome !== 'may-go') return looked;
    const { podLogs } = this.#sources;
    // Of entries of log directories the look does not tell that they are gone (M31).
    const isGone = isPodLogEntry(named) && (await isPodLogEntryGone(named.kind, named.id, podLogs));
    return isGone ? NOT_FOUND : refused(kept);
  }

  async #look(command: Command, item: CommandItem): Promise<Judgement> {
    const { clock, readFacts } = this.#sources;
    const reading = await readFacts();
    if (!reading.ok) return refused({ reason: 'runtime-unavailable', message: reading.message });
    // Last: a kubelet or a runtime that takes its time lets nothing go that was forbidden meanwhile.
    const restrictions = await this.#sources.restrictions();
    const verdict = secondLook(command, item, reading.facts, { restrictions, now: clock.now() });
    return verdict.outcome === 'may-go' ? { ...verdict, reading } : verdict;
  }
}

/**
 * So often the facts may grow old before one step of a removal, before the object is left alone.
 * @limit Times that facts can expire before a removal is given up.
 */
const MAX_JUDGEMENTS = 3;

/** What the removal of one object asks before each step that nobody can undo. */
export interface FreshFacts {
  /**
   * What `look` sees, by facts that are fresh still when it has seen it: where they grew old the object is judged again
   * and looked at once more. Or why the rest is left undone.
   */
  confirm<Seen extends object>(look: (facts: RuntimeFacts) => Promise<Seen>): Promise<Seen | Stays>;
  /** Told of each stop: what was seen before it tells nothing of what it left. */
  outdate(): void;
}

/** Begins with the facts by which the object may go. */
export function freshFacts(first: MayGo, judge: () => Promise<Judgement>, clock: NodeClock): FreshFacts {
  let last: MayGo | null = first;
  const judgedLately = async (): Promise<Judgement> => {
    if (last !== null && isFresh(last.reading, clock.now())) return last;
    const judgement = await judge();
    last = judgement.outcome === 'may-go' ? judgement : null;
    return judgement;
  };
  return {
    confirm: async (look) => {
      for (let count = 0; count < MAX_JUDGEMENTS; count++) {
        const judgement = await judgedLately();
        if (judgement.outcome !== 'may-go') return judgement;
        const seen = await look(judgement.reading.facts);
        // Why an object stays needs no fresh facts.
        if ('outcome' in seen || isFresh(judgement.reading, clock.now())) return seen;
      }
      return TOO_SLOW;
    },
    outdate: () => {
      last = null;
    },
  };
}

const TOO_SLOW = refused({
  reason: 'runtime-unavailable',
  message: 'the runtime and the disk are too slow to remove on facts of the last second',
});

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

/** What the facts of one moment say of an object. */
export type Verdict = Omit<MayGo, 'reading'> | Stays;

/** The second look at one object: it takes away from what the command says and never adds to it. */
export function secondLook(
  command: Command,
  item: CommandItem,
  facts: RuntimeFacts,
  { restrictions, now }: { readonly restrictions: Restrictions; readonly now: Instant },
): Verdict {
  const { policy } = restrictions;
  const refusal = refusalBeforeLook(command, item, restrictions, now);
  if (refusal) return refused(refusal);
  if (policy.kind !== 'enforced') return refused(NO_POLICY);
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
      return { outcome: 'may-go', object: { kind: item.kind, name: item.id } };
    case 'image':
      return lookAtImage(item, looking);
  }
}

function lookAtContainer({ kind, id }: ItemOf<'container'>, { facts, ...looking }: Looking): Verdict {
  const container = facts.listing.containers.find((listed) => listed.id === id);
  if (!container) return NOT_FOUND;
  return verdict(containerRefusal(container, looking.command, looking), { kind, container });
}

function lookAtSandbox({ kind, id }: ItemOf<'sandbox'>, { command, facts: { listing } }: Looking): Verdict {
  const sandbox = listing.sandboxes.find((listed) => listed.id === id);
  if (!sandbox) return NOT_FOUND;
  return verdict(sandboxRefusal(sandbox, command, listing), { kind, sandbox });
}

function lookAtImage({ kind, id }: ItemOf<'image'>, looking: Looking): Verdict {
  const { command, facts, restrictions, policy } = looking;
  const { listing, usage, history } = facts;
  const image = listing.images.find((listed) => listed.id === id);
  if (!image) return NOT_FOUND;
  const { local } = restrictions;
  return verdict(imageRefusal(image, command, { usage, history, local, keep: policy.keep }), {
    kind,
    image,
  });
}

const verdict = (refusal: Refusal | undefined, object: Removable): Verdict =>
  refusal ? refused(refusal) : { outcome: 'may-go', object };

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

import type { Command } from '../../../../schemas/events/command.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { removalsInLastHour } from '../local/removal-rate.ts';
import { backingOff } from '../results/removal-backoff.ts';
import type { Refusal } from '../results/results.ts';
import { commandRefusal, NO_POLICY, overtaken, type Restrictions } from './command-checks.ts';
import { imageRefusal } from './image-checks.ts';
import { activePod, containerRefusal, sandboxRefusal } from './pod-object-checks.ts';
import type { CommandItem, ItemOf, Removable } from './removable.ts';
import type { RuntimeFacts } from './runtime-facts.ts';

export type Verdict =
  | { readonly action: 'remove'; readonly object: Removable }
  /** It is gone already, which is what was wanted (M31). */
  | { readonly action: 'none' }
  | { readonly action: 'refuse'; readonly refusal: Refusal };

/** What can be refused before the runtime is asked. */
export const refusalBeforeLook = (
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

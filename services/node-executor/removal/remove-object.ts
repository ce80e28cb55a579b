import type { RuntimeContainer, RuntimeReader, RuntimeRemover } from '../../../packages/cri/port.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { Sleep } from '../../../packages/process/back-off.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { Restrictions } from '../checks/command-checks.ts';
import { isFresh, type Look } from '../checks/fresh-look.ts';
import type { OwnPlan } from '../checks/own-plan.ts';
import { askForPods, type PodsNow, podReturnRefusal } from '../checks/pod-return.ts';
import {
  type CommandItem,
  isLog,
  type LookAgain,
  type Removable,
  type RuntimeFacts,
  refusalBeforeLook,
  secondLook,
  type Verdict,
} from '../checks/second-look.ts';
import type { JournalEntry } from '../journal/journal-state.ts';
import type { LogRoots } from '../node-files.ts';
import { type Attempt, NOT_FOUND, REMOVED, refused } from './attempt.ts';
import { removeContainer } from './remove-container.ts';
import { removeImage } from './remove-image.ts';
import { isLogGone, removeLogSymlink, removePodLogDirectory } from './remove-log-entry.ts';
import { removeSandbox } from './remove-sandbox.ts';

/** So often the facts may grow old between the look and the removal, before the object is left alone. */
const LOOKS_BEFORE_REMOVAL = 3;

export interface RemovalTools {
  readonly clock: NodeClock;
  readonly look: () => Promise<Look>;
  readonly podsNow: PodsNow | null;
  /** Read anew before each removal. */
  readonly restrictions: () => Promise<Restrictions>;
  readonly remover: ObjectRemover;
  /** Why this node's own plan keeps an object that nothing else does. */
  readonly keptByPlan: OwnPlan['refusalOf'];
  /** Writes to the journal that the removal is about to begin; the name is for people. */
  readonly takeInHand: (since: Instant, name: string) => void;
}

type Fresh = Extract<Look, { ok: true }>;
type Judged =
  | { readonly verdict: Extract<Verdict, { action: 'remove' }>; readonly look: Fresh }
  | { readonly verdict: Attempt };

/**
 * The second look and the removal of one object of a command. Never rejects; `undefined` when `signal` aborts before
 * the removal began.
 */
export async function removeObject(
  { command }: JournalEntry,
  item: CommandItem,
  tools: RemovalTools,
  signal: AbortSignal,
): Promise<Attempt | undefined> {
  const judge = () => judged(command, item, tools);
  const first = await unlessAborted(judge(), signal);
  if (!first || !('look' in first)) return first?.verdict;
  tools.takeInHand(tools.clock.now(), nameOf(first.verdict.object));
  const last = await freshest(first, judge, tools.clock);
  if (!('look' in last)) return last.verdict;
  const attempt = await removeByKind(last.verdict.object, last.look.facts, tools.remover, async () => {
    const again = await judge();
    return 'look' in again ? again.look.facts : again.verdict;
  });
  const whenGone = successWhenGone(attempt, item);
  return whenGone && (await isGoneSoon(item, tools, signal)) ? whenGone : attempt;
}

/** What a failed removal of a container or sandbox was, should the object be gone a moment later. */
function successWhenGone(attempt: Attempt, { kind }: CommandItem): Attempt | null {
  if (attempt.outcome !== 'failed' || (kind !== 'container' && kind !== 'sandbox')) return null;
  const { reason, alreadyDone } = attempt;
  switch (reason) {
    case 'deadline-exceeded':
      return REMOVED;
    case 'runtime-error':
    case 'stop-failed':
      return { outcome: 'not-found', ...(alreadyDone && { alreadyDone }) };
    case 'still-listed':
    case 'log-removal-failed':
      return null;
  }
}

/** So often a failed removal is looked at, so long apart. */
const GONE_LOOKS = 5;
const GONE_PAUSE_MS = 200;

/**
 * A runtime answers with an error while another of its clients, the kubelet say, is removing the same container or
 * sandbox: what is gone a moment later has not failed (M31).
 */
async function isGoneSoon(item: CommandItem, tools: RemovalTools, signal: AbortSignal): Promise<boolean> {
  for (let count = 1; count <= GONE_LOOKS && !signal.aborted; count++) {
    if (await isGone(item, tools)) return true;
    await tools.remover.sleep(GONE_PAUSE_MS, signal);
  }
  return false;
}

/** Whether an object that was in hand when an earlier process ended is gone; `null` when that cannot be seen. */
export async function isGone(
  item: CommandItem,
  { look, remover }: Pick<RemovalTools, 'look' | 'remover'>,
): Promise<boolean | null> {
  if (isLog(item)) return isLogGone(item.kind, item.id, remover.logs);
  const seen = await look();
  if (!seen.ok) return null;
  const { images, containers, sandboxes } = seen.facts.listing;
  const listed = { image: images, container: containers, sandbox: sandboxes }[item.kind];
  return !listed.some(({ id }) => id === item.id);
}

/** Writing the journal takes time on a bad disk: facts that grew old meanwhile are read again. */
async function freshest(first: Judged, judge: () => Promise<Judged>, clock: NodeClock): Promise<Judged> {
  let last = first;
  for (let count = 1; 'look' in last && !isFresh(last.look, clock.now()); count++) {
    if (count === LOOKS_BEFORE_REMOVAL) return { verdict: TOO_SLOW };
    last = await judge();
  }
  return last;
}

const TOO_SLOW: Attempt = refused({
  reason: 'runtime-unavailable',
  message: 'the runtime and the disk are too slow to remove on facts of the last second',
});

async function judged(command: Command, item: CommandItem, tools: RemovalTools): Promise<Judged> {
  const early = refusalBeforeLook(command, item, await tools.restrictions(), tools.clock.now());
  if (early) return { verdict: refused(early) };
  const pods = await askForPods(item, tools.podsNow, tools.clock.now);
  // Read anew: the kubelet may have taken its time.
  const restrictions = await tools.restrictions();
  const look = await tools.look();
  if (!look.ok) return { verdict: refused({ reason: 'runtime-unavailable', message: look.message }) };
  const now = tools.clock.now();
  const verdict = secondLook(command, item, look.facts, { restrictions, now });
  switch (verdict.action) {
    case 'remove': {
      const kept = tools.keptByPlan(item);
      // Of entries of log directories the look does not tell that they are gone (M31).
      if (kept && isLog(item) && (await isLogGone(item.kind, item.id, tools.remover.logs)))
        return { verdict: NOT_FOUND };
      const refusal = kept ?? podReturnRefusal(verdict.object, pods, look.facts.listing, now);
      return refusal ? { verdict: refused(refusal) } : { verdict, look };
    }
    case 'none':
      return { verdict: NOT_FOUND };
    case 'refuse':
      return { verdict: refused(verdict.refusal) };
  }
}

/** What `work` resolves to, or `undefined` when `signal` aborts first; `work` must not reject and has no effect then. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stop = (): void => resolve(undefined);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

interface ObjectRemover {
  readonly runtime: RuntimeReader & RuntimeRemover;
  readonly logs: LogRoots;
  readonly sleep: Sleep;
}

/** Removes what the second look let pass, each kind by its own call. Never rejects. */
function removeByKind(
  object: Removable,
  { listing }: RuntimeFacts,
  remover: ObjectRemover,
  lookAgain: LookAgain,
): Promise<Attempt> {
  switch (object.kind) {
    case 'image':
      return removeImage(object.image, remover);
    case 'container':
      return removeContainer(object.container, listing.containers, { ...remover, lookAgain });
    case 'sandbox':
      return removeSandbox(object.sandbox, { runtime: remover.runtime, lookAgain });
    case 'pod-log-directory':
      return removePodLogDirectory(object, remover.logs);
    case 'log-symlink':
      return removeLogSymlink(object.name, listing, remover.logs);
  }
}

/** As people search for it in a log; nobody knows an id. */
function nameOf(object: Removable): string {
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

const podOf = (labels: RuntimeContainer['labels']): string =>
  `${labels['io.kubernetes.pod.namespace'] ?? ''}/${labels['io.kubernetes.pod.name'] ?? ''}`;

import type { ContainerRemoval } from '../../../../schemas/events/command.ts';
import type { Verdict } from '../../../../schemas/events/decision.ts';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import {
  containerIdOfSymlink,
  containersOfSymlinks,
  type InventoryLogSymlink,
  type InventoryPodLogDirectory,
  podUidOfLogDirectory,
} from '../../../../schemas/events/pod-log-entries.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { Steps } from '../../../../schemas/policy/steps.ts';
import type { Facts, Kept } from '../../../decision/conclusion.ts';
import { isAmong, listedTwice } from '../../../decision/inventory-checks.ts';
import { namespaceOfLogDirectory, namespaceOfSymlink } from '../../../decision/inventory-entries.ts';
import type { KeptRule, RemovedRule } from '../../../decision/rule-text.ts';
import type { Room } from './dead-containers.ts';
import { keptByNamespace } from './pods.ts';

/** What the entries of the log directories are judged by. */
interface PodLogPass {
  readonly inventory: CompleteInventory;
  readonly policy: Policy;
  /** UIDs of pods whose content is removable, none before all sources have delivered (I1, I3). */
  readonly removable: ReadonlySet<string>;
  /** UIDs of pods that are gone, which the executor asks about again. */
  readonly gone: ReadonlySet<string>;
  /** Ids of containers that go in this pass, with their symlinks (G22). */
  readonly plannedContainers: ReadonlySet<string>;
  readonly room: Room;
  readonly withhold: (entry: Pick<InventoryPodLogDirectory, 'name' | 'backoff'>) => Kept | undefined;
  readonly steps: Steps;
}

/** What is to become of one entry of a log directory, and by which rule. */
type Judged = { readonly facts: Facts } & (
  | { readonly action: 'remove'; readonly rule: RemovedRule }
  | { readonly action: 'keep'; readonly rule: KeptRule }
);

/** The same with the entry. */
type JudgedEntry<Entry> = Judged & { readonly entry: Entry };

const kept = (rule: KeptRule, facts: Facts): Judged => ({ action: 'keep', rule, facts });

type PodLogItem = Extract<ContainerRemoval['items'][number], { kind: 'pod-log-directory' | 'log-symlink' }>;

export interface PodLogPlan {
  /** In the order in which they go: directories first, each kind as it was listed (I3). */
  readonly items: readonly PodLogItem[];
  /** Of every entry, in the same order. */
  readonly verdicts: readonly Verdict[];
}

/** What goes of the two log directories (I). */
export function planPodLogs(pass: PodLogPass): PodLogPlan {
  const items: PodLogItem[] = [];
  const admitted = ({ action, rule, facts }: Judged, item: PodLogItem, position: number): Verdict => {
    const { kind } = item;
    if (action === 'keep') return { action, facts, kind, position, rule };
    if (items.length >= pass.room.objects)
      return {
        action: 'keep',
        facts: { ...facts, selectedBy: rule },
        kind,
        position,
        rule: pass.room.waitBy,
      };
    items.push(item);
    return { action, facts, kind, position, rule };
  };
  const directories = judgeDirectories(pass).map(({ entry: { name, podUid }, ...judged }, position) => {
    const podGone = pass.gone.has(podUid);
    return admitted(
      judged,
      { kind: 'pod-log-directory', id: name, podUid, podGone, rule: judged.rule },
      position,
    );
  });
  const symlinks = judgeSymlinks(pass).map(({ entry: { name }, ...judged }, position) =>
    admitted(judged, { kind: 'log-symlink', id: name, rule: judged.rule }, position),
  );
  return { items, verdicts: [...directories, ...symlinks] };
}

function judgeDirectories(pass: PodLogPass): JudgedEntry<InventoryPodLogDirectory>[] {
  const entries = pass.inventory.podLogDirectories ?? [];
  const twice = listedTwice(entries.map(({ name }) => name));
  const active = activePods(pass.inventory);
  return entries.map((entry) => ({
    entry,
    ...(isAmong(twice, entry.name) ? kept('C5', { listedTwice: true }) : judgeDirectory(entry, pass, active)),
  }));
}

function judgeDirectory(
  entry: InventoryPodLogDirectory,
  pass: PodLogPass,
  active: ReadonlySet<string>,
): Judged {
  const { name, podUid } = entry;
  const { policy, removable, withhold } = pass;
  if (podUid === '' || podUidOfLogDirectory(name) !== podUid) return kept('I2', { podUid });
  // The kubelet takes every entry for a pod's, `lost+found` too.
  if (policy.profile === 'fleetgc' && !POD_LOG_DIRECTORY.test(name)) return kept('M41', { podUid });
  if (!removable.has(podUid)) return kept('I3', { podIsRemovable: false });
  if (policy.profile === 'fleetgc' && active.has(podUid)) return kept('K2', { podIsActive: true });
  const reason = keptByNamespace(namespaceOfLogDirectory(name), policy) ?? withhold(entry);
  if (reason) return kept(reason.rule, { ...reason.facts, selectedBy: 'I3' });
  return { action: 'remove', rule: 'I3', facts: { podIsRemovable: true } };
}

/** `<uid>` or `<namespace>_<name>_<uid>`, with a UID of the API server or one that the kubelet gave a static pod (I2). */
const POD_LOG_DIRECTORY = /^([^_]+_[^_]+_)?([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})$/;

/** An inventory that calls a pod gone and lists it as running contradicts itself. */
const activePods = ({ containers, sandboxes }: CompleteInventory): ReadonlySet<string> =>
  new Set([
    ...containers.filter(({ state }) => state === 'running').map(({ pod }) => pod?.uid ?? ''),
    ...sandboxes
      .filter(({ state }) => state === 'ready')
      .flatMap(({ podUid, pod }) => [podUid, pod?.uid ?? '']),
  ]);

type SymlinkPass = Pick<PodLogPass, 'inventory' | 'policy' | 'plannedContainers' | 'withhold' | 'steps'>;

/** What becomes of the dangling symlinks (I4 to I8), in the order in which they are listed. */
function judgeSymlinks(pass: SymlinkPass): JudgedEntry<InventoryLogSymlink>[] {
  const links = pass.inventory.logSymlinks ?? [];
  if (isSkipped(pass)) return links.map((entry) => ({ entry, ...kept('I1', { podLogsRead: false }) }));
  const twice = listedTwice(links.map(({ name }) => name));
  const meantBy = links.length === 0 ? () => [] : containersMeant(pass);
  return links.map((entry) => ({
    entry,
    ...(isAmong(twice, entry.name)
      ? kept('C5', { listedTwice: true })
      : judgeSymlink(entry, pass, meantBy(entry.name))),
  }));
}

/**
 * Where the directory of pod logs cannot be read, every link into it seems to dangle. The kubelet notices only when it
 * reads it, which it does once all sources have delivered.
 */
const isSkipped = ({ inventory, policy }: SymlinkPass): boolean =>
  inventory.podLogDirectories === null && (policy.profile === 'fleetgc' || inventory.allSourcesReady);

function judgeSymlink(
  link: InventoryLogSymlink,
  pass: SymlinkPass,
  meant: CompleteInventory['containers'],
): Judged {
  const { policy, plannedContainers, withhold } = pass;
  const judged = policy.profile === 'kubelet' ? asTheKubelet(link) : byKnownContainers(link, meant);
  if (judged.action === 'keep') return judged;
  const [container] = meant;
  if (container && plannedContainers.has(container.id)) return kept('G22', { goesWith: container.id });
  const reason = keptByNamespace(namespaceOfSymlink(link.name), policy) ?? withhold(link);
  return reason ? kept(reason.rule, { ...reason.facts, selectedBy: judged.rule }) : judged;
}

const REMOVED_BY_KUBELET: readonly InventoryLogSymlink['container'][] = ['unreadable', 'no-answer', 'exited'];

/** I6. More than one possible container is no answer of the kubelet's, and keeps here as well. */
const asTheKubelet = ({ container }: InventoryLogSymlink): Judged =>
  judgement(REMOVED_BY_KUBELET.includes(container), 'I6', container);

/**
 * M35. Beside the answer for the one link the whole list of containers is asked: every container that the name can mean
 * must have exited, and a name that holds no id is not the kubelet's.
 */
function byKnownContainers(
  { name, container }: InventoryLogSymlink,
  meant: CompleteInventory['containers'],
): Judged {
  if (container === 'exited' || container === 'no-answer') {
    const isReadable = containerIdOfSymlink(name) !== null;
    const haveExited = meant.every(({ state }) => state === 'exited');
    return judgement(isReadable && haveExited, container === 'exited' ? 'I6' : 'M35', container);
  }
  const rule = container === 'not-exited' || container === 'empty' ? 'I6' : 'M35';
  return judgement(false, rule, container);
}

const judgement = (
  goes: boolean,
  rule: KeptRule & RemovedRule,
  container: InventoryLogSymlink['container'],
): Judged => ({
  action: goes ? 'remove' : 'keep',
  rule,
  facts: { container },
});

/** Which containers a symlink can mean by its name: none of a name that holds no id. */
function containersMeant({
  inventory,
  steps,
}: SymlinkPass): (name: string) => CompleteInventory['containers'] {
  const meantBy = containersOfSymlinks(inventory.containers);
  return (name) => {
    const id = containerIdOfSymlink(name);
    if (id === null) return [];
    const meant = [...meantBy(id)];
    steps.take(STEPS_OF_CONTAINER * meant.length);
    return meant;
  };
}

/** To find a container by the beginning of its id takes as long as so many comparisons of characters. */
const STEPS_OF_CONTAINER = 16;

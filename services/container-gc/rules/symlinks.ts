import { isAmong, listedTwice } from '../../../packages/decision/listing.ts';
import type { CompleteInventory, InventoryLogSymlink } from '../../../schemas/events/inventory.ts';
import { containerIdOfSymlink, containersOfSymlink } from '../../../schemas/events/log-names.ts';
import { type Judged, type JudgedEntry, kept, type LogPass } from './log-pass.ts';
import { keptByNamespace, namespaceOfSymlink } from './namespaces.ts';

type SymlinkPass = Pick<LogPass, 'inventory' | 'policy' | 'plannedContainers' | 'withhold'>;

/** What becomes of the dangling symlinks (I4 to I8), in the order in which they are listed. */
export function judgeSymlinks(pass: SymlinkPass): JudgedEntry<InventoryLogSymlink>[] {
  const links = pass.inventory.logSymlinks ?? [];
  if (isSkipped(pass)) return links.map((entry) => ({ entry, ...kept('I1', { podLogsRead: false }) }));
  const twice = listedTwice(links.map(({ name }) => name));
  return links.map((entry) => ({
    entry,
    ...(isAmong(twice, entry.name) ? kept('C5', { listedTwice: true }) : judgeSymlink(entry, pass)),
  }));
}

/**
 * Where the directory of pod logs cannot be read, every link into it seems to dangle. The kubelet notices only when it
 * reads it, which it does once all sources have delivered.
 */
const isSkipped = ({ inventory, policy }: SymlinkPass): boolean =>
  inventory.podLogDirectories === null && (policy.profile === 'fleetgc' || inventory.allSourcesReady);

function judgeSymlink(link: InventoryLogSymlink, pass: SymlinkPass): Judged {
  const { inventory, policy, plannedContainers, withhold } = pass;
  const judged =
    policy.profile === 'kubelet' ? asTheKubelet(link) : byKnownContainers(link, inventory.containers);
  if (judged.action === 'keep') return judged;
  const [container] = meant(link.name, inventory.containers);
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
  containers: CompleteInventory['containers'],
): Judged {
  if (container === 'exited' || container === 'no-answer') {
    const isReadable = containerIdOfSymlink(name) !== null;
    const haveExited = meant(name, containers).every(({ state }) => state === 'exited');
    return judgement(isReadable && haveExited, container === 'exited' ? 'I6' : 'M35', container);
  }
  const rule = container === 'not-exited' || container === 'empty' ? 'I6' : 'M35';
  return judgement(false, rule, container);
}

const judgement = (goes: boolean, rule: string, container: InventoryLogSymlink['container']): Judged => ({
  action: goes ? 'remove' : 'keep',
  rule,
  facts: { container },
});

function meant(name: string, containers: CompleteInventory['containers']): CompleteInventory['containers'] {
  const id = containerIdOfSymlink(name);
  return id === null ? [] : [...containersOfSymlink(id, containers)];
}

import { isAmong, listedTwice } from '../../../packages/decision/listing.ts';
import type { ContainerRemoval } from '../../../schemas/events/command.ts';
import type { Verdict } from '../../../schemas/events/decision.ts';
import type { CompleteInventory, InventoryPodLogDirectory } from '../../../schemas/events/inventory.ts';
import { podUidOfLogDirectory } from '../../../schemas/events/log-names.ts';
import { type Judged, type JudgedEntry, kept, type LogPass } from './log-pass.ts';
import { keptByNamespace, namespaceOfLogDirectory } from './namespaces.ts';
import { judgeSymlinks } from './symlinks.ts';

export type LogItem = Extract<
  ContainerRemoval['items'][number],
  { kind: 'pod-log-directory' | 'log-symlink' }
>;

export interface LogPlan {
  /** In the order in which they go: directories first, each kind as it was listed (I3). */
  readonly items: readonly LogItem[];
  /** Of every entry, in the same order. */
  readonly verdicts: readonly Verdict[];
}

/** What goes of the two log directories (I). */
export function planLogs(pass: LogPass): LogPlan {
  const items: LogItem[] = [];
  const admitted = ({ action, rule, facts }: Judged, item: LogItem, position: number): Verdict => {
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

function judgeDirectories(pass: LogPass): JudgedEntry<InventoryPodLogDirectory>[] {
  const entries = pass.inventory.podLogDirectories ?? [];
  const twice = listedTwice(entries.map(({ name }) => name));
  const active = activePods(pass.inventory);
  return entries.map((entry) => ({
    entry,
    ...(isAmong(twice, entry.name) ? kept('C5', { listedTwice: true }) : judgeDirectory(entry, pass, active)),
  }));
}

function judgeDirectory(entry: InventoryPodLogDirectory, pass: LogPass, active: ReadonlySet<string>): Judged {
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

import type { Sleep } from '../../../../packages/process/backoff.ts';
import type { ObjectKind } from '../../../../schemas/events/object-kinds.ts';
import type { JudgeTools } from '../checks/judge-object.ts';
import { type CommandItem, isPodLogEntry } from '../checks/removable.ts';
import { type Attempt, REMOVED } from './removal-attempt.ts';
import { isPodLogEntryGone } from './remove-pod-log-entry.ts';

/** So often a failed removal is looked at, so long apart. */
const GONE_READINGS = 5;
const GONE_PAUSE_MS = 200;

type FactTools = Pick<JudgeTools, 'readFacts' | 'podLogs'>;

/** Whether an object is gone; `null` when that cannot be seen. */
export async function isGone(item: CommandItem, { readFacts, podLogs }: FactTools): Promise<boolean | null> {
  if (isPodLogEntry(item)) return isPodLogEntryGone(item.kind, item.id, podLogs);
  const reading = await readFacts();
  if (!reading.ok) return null;
  const { images, containers, sandboxes } = reading.facts.listing;
  const listed = { image: images, container: containers, sandbox: sandboxes }[item.kind];
  return !listed.some(({ id }) => id === item.id);
}

/**
 * A runtime answers with an error while another of its clients, the kubelet say, is removing the same container or
 * sandbox: what is gone a moment later has not failed (M31).
 */
export async function unlessGoneSoon(
  attempt: Attempt,
  item: CommandItem,
  tools: FactTools & { readonly sleep: Sleep },
  signal: AbortSignal,
): Promise<Attempt> {
  const whenGone = successWhenGone(attempt, item);
  if (whenGone === null) return attempt;
  for (let count = 1; count <= GONE_READINGS && !signal.aborted; count++) {
    if (await isGone(item, tools)) return whenGone;
    await tools.sleep(GONE_PAUSE_MS, signal);
  }
  return attempt;
}

/** Images are listed again by their own removal, and log entries are nobody else's. */
const MAY_GO_BY_OTHERS: Readonly<Record<ObjectKind, boolean>> = {
  container: true,
  sandbox: true,
  'pod-log-directory': false,
  'log-symlink': false,
  image: false,
};

/** What a failed removal was, should the object be gone a moment later. */
function successWhenGone(attempt: Attempt, { kind }: CommandItem): Attempt | null {
  if (attempt.outcome !== 'failed' || !MAY_GO_BY_OTHERS[kind]) return null;
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

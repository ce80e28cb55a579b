import { join } from 'node:path';
import type { ContainerdReader } from '../../../packages/cri/containerd/reader.ts';
import { openReadOnlyFile } from '../../../packages/files/fixed-file.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import { IMAGE_HISTORY_FILE, ImageHistoryFile } from '../../../schemas/state/image-history.ts';
import { contentReading, type MissingContents, NO_CONTENTS } from '../agent/contents.ts';
import { agentEvents } from '../agent/event.ts';
import { backoffReader, removedImagesReader } from '../agent/executor-files.ts';
import { openHistory } from '../agent/history.ts';
import { watchPods } from '../agent/pods.ts';
import { createNodeScanner, detectedImages, type NodeSources } from '../agent/scan.ts';

/** What a single scan of a node needs. */
interface ScannedNode extends Omit<NodeSources, 'contents'> {
  /** For the contents of images; `null`: nobody is asked. */
  readonly containerd: ContainerdReader | null;
  /** Whether the runtime's imports look like pulls. */
  readonly importsLookPulled: boolean;
  /** Takes why they are not known. */
  readonly onMissingContents: (silence: MissingContents) => void;
  readonly state: KeptState;
}

/** One inventory as an agent takes them that was just started; nothing is kept. Rejects where the runtime does not answer. */
export async function takeInventoryOnce(node: ScannedNode): Promise<Inventory> {
  const { identity, nodeLabels, state, clock, logger } = node;
  const startedAt = clock.now();
  const runtime = await node.runtime.version();
  const removed = removedImagesReader(state, logger);
  const history = openHistory({ state, now: startedAt, removed, logger });
  const pods = watchPods({ source: node.pods, sources: node.podSources, clock, logger });
  const scan = await createNodeScanner(node, pods, history)();
  const contentsOf = contentReading({ ...node, onMissing: node.onMissingContents });
  const contents = scan.status === 'complete' ? await contentsOf(detectedImages(scan)) : NO_CONTENTS;
  return agentEvents({ identity, nodeLabels, startedAt }).inventory(
    { scan, trigger: 'start', reclaim: null, diedContainerIds: [], runtime },
    { backoff: backoffReader(state, logger)(), historyUnreadable: history.unreadable, ...contents },
  );
}

/** What agent and executor of a node keep, for one who only reads it. */
type KeptState = Pick<StateDirectory, 'open' | 'openReadOnly'>;

/** The files of a state directory as they are; without a directory there is none of them. Writes nothing, takes no lock. */
export function keptState(directory: string | undefined): KeptState {
  const openReadOnly: KeptState['openReadOnly'] = (name, schema) =>
    directory === undefined ? { read: () => null } : openReadOnlyFile(join(directory, name), schema);
  return {
    openReadOnly,
    open: (name, _sizeBytes, schema) => ({ ...openReadOnly(name, schema), write: refuseToWrite }),
  };
}

function refuseToWrite(): never {
  throw new FleetGcError('INTERNAL', 'who only asks for a plan keeps nothing');
}

/** Whether an agent has kept when images were seen and used. Throws `STATE_UNREADABLE`. */
export const hasHistory = (state: KeptState): boolean =>
  state.openReadOnly(IMAGE_HISTORY_FILE, ImageHistoryFile).read() !== null;

import type { RecordedEvent } from '../../../packages/pipeline/read-log.ts';
import { collectNames } from './collect-names.ts';
import type { FoundNames, PartSearch } from './name-index.ts';
import { encodeNames, searchNames } from './name-lines.ts';

/**
 * What the index of a file would say of these nodes if the file had only those records that lie in the range. Of other nodes it
 * says too much, as before.
 */
export async function namesInRange(
  file: FoundNames,
  recorded: AsyncIterable<RecordedEvent>,
  { keys, texts }: Pick<PartSearch, 'keys' | 'texts'>,
): Promise<FoundNames> {
  const names = collectNames();
  for await (const { record } of recorded) names.add(record);
  const { nodes, lines } = searchNames(encodeNames(names.lines()), texts);
  const { written, unread, looked } = file.nodes;
  const ofOthers = (key: string): boolean => !keys.has(key);
  const others = Object.entries(looked).filter(([key]) => ofOthers(key));
  return {
    ...file,
    isCut: false,
    lines,
    nodes: {
      written,
      unread: [...unread.filter(ofOthers), ...nodes.unread],
      looked: { ...Object.fromEntries(others), ...nodes.looked },
    },
  };
}

import { type ArchiveHead, MOST_SUMS } from '../../schemas/events/head.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { lineSum, type ManifestLine } from './manifest-entry.ts';

/** What the archiver signs. */
export type UnsignedHead = Pick<ArchiveHead, 'archive' | 'lines' | 'hash' | 'fromLine' | 'sums'>;

/** A head makes a record of `gc.heads`, which is archived too: that alone is no reason to sign again. */
export function unsignedHead(lines: readonly ManifestLine[]): UnsignedHead | null {
  const fromLine = lines.findLastIndex(({ kind }) => kind === 'head') + 1;
  const news = lines.slice(fromLine);
  const [first, last] = [lines[0], lines.at(-1)];
  if (first === undefined || last === undefined || !news.some(isToBeSigned)) return null;
  const shown = news.slice(-MOST_SUMS);
  return {
    archive: first.hash,
    lines: lines.length,
    hash: last.hash,
    fromLine: lines.length - shown.length,
    sums: shown.map(lineSum),
  };
}

/** Whether a line alone is reason to sign. */
export const isToBeSigned = (line: ManifestLine): boolean =>
  line.kind !== 'head' && (line.kind !== 'file' || line.topic !== TOPICS.heads.name);

import { type KnownFile, knownFiles, loadManifest, readKnownFile, unnamedOf } from './archive-files.ts';
import { isFileName, UNFINISHED } from './file-names.ts';
import { type ArchiveGap, filesOf, type Manifest } from './manifest.ts';
import { openStore } from './open-store.ts';
import type { ArchivePlace, ArchiveStore } from './store.ts';

/** What an archive was found to be. */
export interface ArchiveFindings {
  /** What was changed, added or removed, a sentence each. */
  readonly deviations: readonly string[];
  /** Records that were lost before they could be archived; the archive says so itself. */
  readonly gaps: readonly ArchiveGap[];
  /** Left by an archiver that was killed; the next run clears it away. */
  readonly unfinished: readonly string[];
  readonly files: number;
  readonly records: number;
  readonly sizeBytes: number;
  /** The hash of the last line; `null` where there is none. */
  readonly head: string | null;
}

export interface CheckProgress {
  readonly done: number;
  readonly of: number;
}

interface ArchiveCheck {
  readonly place: ArchivePlace;
  /** A head that was noted earlier and elsewhere: whoever changes the archive cannot change that too. */
  readonly expectedHead: string | null;
  readonly onProgress: (progress: CheckProgress) => void;
}

/** Reads the whole archive, and finds what is not as it was written. Throws `NOT_FOUND` when there is none. */
export async function checkArchive(check: ArchiveCheck, signal: AbortSignal): Promise<ArchiveFindings> {
  const { place, expectedHead, onProgress } = check;
  using store = await openStore(place);
  await store.readManifest();
  // An archiver that is at work names its files later: those that are there now are named by the manifest then.
  const there = await store.list();
  const manifest = await loadManifest(store);
  const files = filesOf(manifest);
  const unnamed = unnamedOf(there, manifest);
  return {
    deviations: [
      ...manifest.problems,
      ...headProblems(manifest, expectedHead),
      ...(await changedFiles({ store, onProgress }, knownFiles(manifest), signal)),
      ...unnamed.filter((file) => !file.endsWith(UNFINISHED)).map(addedText),
    ],
    gaps: manifest.entries.filter((entry) => entry.kind === 'gap'),
    unfinished: [
      ...unnamed.filter((file) => file.endsWith(UNFINISHED)),
      ...(manifest.isWhole ? [] : ['the last line of the manifest']),
    ],
    files: files.length,
    records: files.reduce((sum, { rows }) => sum + rows, 0),
    sizeBytes: knownFiles(manifest).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    head: manifest.hashes.at(-1) ?? null,
  };
}

const addedText = (file: string): string =>
  isFileName(file)
    ? `${file} was added: the manifest does not name it (an archiver that was killed can leave one such file; "fleetgc audit archive" then writes it anew)`
    : `${file} was added: it does not belong there, no file of an archive has such a name`;

const headProblems = ({ hashes }: Manifest, expected: string | null): readonly string[] =>
  expected === null || hashes.includes(expected)
    ? []
    : [
        `no line of the manifest has the hash ${expected}: lines up to it were changed or removed, or this is another archive`,
      ];

/** What is wrong with files, a sentence each. Each is read whole, one after the other. */
export async function changedFiles(
  { store, onProgress }: Pick<ArchiveCheck, 'onProgress'> & { readonly store: ArchiveStore },
  files: readonly KnownFile[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const [done, file] of files.entries()) {
    signal.throwIfAborted();
    onProgress({ done, of: files.length });
    const problem = await fileProblem(store, file);
    if (problem !== null) problems.push(problem);
  }
  return problems;
}

/** What is wrong with a file of the archive; `null` when it is as it was written. */
async function fileProblem(store: ArchiveStore, file: KnownFile): Promise<string | null> {
  const read = await readKnownFile(store, file);
  return read.ok ? null : read.problem;
}

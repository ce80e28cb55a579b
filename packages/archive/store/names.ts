/** Held by the one process that writes to a directory. */
export const LOCK_FILE = 'archive.lock';
/** A file that is not written whole yet, or that tells of something that is not done yet, ends so. */
export const UNFINISHED = '.unfinished';

/**
 * There while a pass goes on, and after one that did not come to its end: what was copied last may lack its causes. It has the
 * token of the archiver where several may write.
 */
export const PASS_FILE = /^pass(-[0-9a-f]{12})?\.unfinished$/;
export const passFile = (token: string | null): string =>
  `pass${token === null ? '' : `-${token}`}${UNFINISHED}`;

/** What an archiver may leave half done: at the top of the archive, and by these names. Below the same place others may have theirs. */
const LEFT_UNFINISHED =
  /^(?:pass(?:-[0-9a-f]{12})?|probe-[0-9a-f]{12}|manifest\.jsonl|[^/]+\.(?:parquet|names\.jsonl\.zst))\.unfinished$/;
export const isLeftUnfinished = (name: string): boolean => LEFT_UNFINISHED.test(name);

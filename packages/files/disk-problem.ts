const TEXTS = new Map<unknown, string>([
  ['ENOSPC', 'its disk is full (free 10 MB on it, 50 MB for "fleetgc run")'],
  ['EDQUOT', 'its disk quota is used up'],
  ['EROFS', 'its filesystem is read-only'],
]);

/** What people call it that a disk takes nothing more; `null` where a system error is of another kind. */
export const diskProblem = (error: unknown): string | null =>
  error instanceof Error && 'code' in error ? (TEXTS.get(error.code) ?? null) : null;

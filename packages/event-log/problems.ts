/** What is wrong at the moment, by where. */
export interface Problems {
  /** `null` when it is well again. */
  set(where: string, problem: string | null): void;
  clear(): void;
  /** The one that came last; null when nothing is wrong. */
  latest(): string | null;
}

export function trackProblems(): Problems {
  const problems = new Map<string, string>();
  return {
    set: (where, problem) => {
      problems.delete(where);
      if (problem !== null) problems.set(where, problem);
    },
    clear: () => problems.clear(),
    latest: () => [...problems.values()].at(-1) ?? null,
  };
}

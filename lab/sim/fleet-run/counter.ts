/** Of each name that came up, how often. */
export type Counts<Name extends string> = Readonly<Partial<Record<Name, number>>>;

export interface Counter<Name extends string> {
  add(name: Name, by?: number): void;
  readonly counts: Counts<Name>;
}

export const createCounter = <Name extends string>(): Counter<Name> => {
  const counts: Partial<Record<Name, number>> = {};
  return {
    add: (name, by = 1) => {
      counts[name] = (counts[name] ?? 0) + by;
    },
    counts,
  };
};

/** Whether processes ended over records, and that one of them has these in hand now. */
export interface InHand {
  /** Processes that ended while they had the first of these records in hand. After one that did, records come one by one. */
  readonly deaths: number;
  /** Writes down that these records are in hand, as far as that can still be needed. What may end the process comes after it. */
  begin(): Promise<void>;
  /** The process has lived through it, whatever came of the records. */
  end(): void;
}

/** Where nobody counts. */
export const UNCOUNTED: InHand = { deaths: 0, begin: async () => undefined, end: () => undefined };

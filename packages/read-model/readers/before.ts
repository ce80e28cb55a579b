/** Where to go on: what was told last. */
export interface Before {
  readonly atMs: number;
  readonly id: string;
}

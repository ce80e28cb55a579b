/** Who does something, as they call themselves, and why; both may be empty. */
export interface Doing {
  readonly by: string;
  readonly reason: string;
}

export const NOBODY_SAYS: Doing = { by: '', reason: '' };

/** As an event has it: what nobody said is not written. */
export const said = ({ by, reason }: Doing): Partial<Doing> => ({
  ...(by !== '' && { by }),
  ...(reason !== '' && { reason }),
});

/** The time of day on this machine, for lines as they come. */
export const clockText = (): string => new Date().toTimeString().slice(0, 'hh:mm:ss'.length);

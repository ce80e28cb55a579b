const SHORT_DIGITS = 12;
/** Enough of a hash for people to tell it from another. What a message calls a hash may be any text, and none is cut within a character. */
export const shortHash = (told: string): string => told.slice(0, SHORT_DIGITS).toWellFormed();

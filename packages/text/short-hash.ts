const SHORT_DIGITS = 12;
/** Enough of a hash for people to tell it from another. What a message calls a hash may be any text, and none is cut within a character. */
export const shortHash = (told: string): string => told.slice(0, SHORT_DIGITS).toWellFormed();

const LONG_ID = /\b(sha256:)?([0-9a-f]{12})[0-9a-f]{52}\b/g;

/** Ids and digests as tools abbreviate them, wherever they stand in a text. */
export const shortIds = (text: string): string => text.replace(LONG_ID, '$2');

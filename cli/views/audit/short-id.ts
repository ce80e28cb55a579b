const LONG_ID = /\b(sha256:)?([0-9a-f]{12})[0-9a-f]{52}\b/g;

/** Ids and digests as tools abbreviate them, wherever they stand in a text. */
export const shortIds = (text: string): string => text.replace(LONG_ID, '$2');

/** Whoever may write there can write any length; the whole text lies on the event log. */
const MOST_TEXT_LENGTH = 1_000;

/** As much of a text as a table holds of one. */
export const boundedText = (text: string): string =>
  text.length <= MOST_TEXT_LENGTH
    ? text.toWellFormed()
    : text.toWellFormed().slice(0, MOST_TEXT_LENGTH).toWellFormed();

export const isBoundedText = (text: string): boolean => text.length <= MOST_TEXT_LENGTH;

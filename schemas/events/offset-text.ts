import { z } from 'zod';

/** So many digits fit into every database's whole number of 64 bits, and no event log lives to need more. */
const MOST_DIGITS = 18;

/** Where a record lies in its partition, as text: as `String` makes it of a number, and in no other way. */
const OFFSET_TEXT = new RegExp(`^(0|[1-9][0-9]{0,${MOST_DIGITS - 1}})$`);

export const OffsetText = z.string().regex(OFFSET_TEXT);

export const isOffsetText = (text: string): boolean => OFFSET_TEXT.test(text);

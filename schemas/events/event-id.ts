import { z } from 'zod';

/**
 * Ids that we make are UUIDs, or a word and 32 digits.
 * @limit Characters of an event id. Commands repeat it, so `MAX_COMMAND_BYTES` depends on it.
 */
export const MAX_EVENT_ID_LENGTH = 200;

/** What an event is called. Whatever follows from it names it, so a bound here is a part of the bound of an order. */
export const EventId = z.string().min(1).max(MAX_EVENT_ID_LENGTH);

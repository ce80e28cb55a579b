import type { Logger } from 'pino';
import type { ItemProgress, JournalEntry, JournalState } from './journal-state.ts';

const WAITING: ItemProgress = { state: 'waiting' };

/**
 * The journal as the executor needs it: each command once, and with as many objects as are named. A file that has been
 * tampered with, or written by an older release, must not stop every start.
 */
export function repairedJournal(state: JournalState, logger: Logger): JournalState {
  const seen = new Set<string>();
  const entries = state.entries.flatMap((entry) => {
    const commandId = entry.command.id;
    if (seen.has(commandId)) {
      logger.error({ commandId }, 'journal repaired: a command with the id of an earlier one is left out');
      return [];
    }
    seen.add(commandId);
    return [withItems(entry, logger)];
  });
  return { ...state, entries };
}

/** What is missing was in nobody's hand, and is judged anew; what is too much is of no object. */
function withItems(entry: JournalEntry, logger: Logger): JournalEntry {
  const { command, items } = entry;
  if (items.length === command.items.length) return entry;
  const facts = { commandId: command.id, objects: command.items.length, known: items.length };
  logger.error(facts, 'journal repaired: it knew of more or fewer objects than its command names');
  return { ...entry, items: command.items.map((_, index) => items[index] ?? WAITING) };
}

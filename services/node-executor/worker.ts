import { carryOut } from './carry-out.ts';
import type { CarryOutParts } from './carry-out-item.ts';

/**
 * Carries out the commands of the journal one after the other, in the order in which they came, until `signal` aborts;
 * the removal in hand is then finished and the rest of its command is not done. Commands not begun stay in the journal.
 */
export async function runWorker(parts: CarryOutParts, signal: AbortSignal): Promise<void> {
  const { journal } = parts.recorder;
  while (!signal.aborted) {
    const [entry] = journal.state().entries;
    if (entry) await carryOut(entry, parts, signal);
    else await journal.changed(signal);
  }
}

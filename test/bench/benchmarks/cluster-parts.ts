import type { Findings } from '../figure.ts';
import { deciderFigures } from './cluster/decider.ts';
import { watchEventFigures } from './cluster/watch-events.ts';

/** What one core of the agent and of graph-gc can do, without an API server and without a log. */
export async function benchClusterParts(): Promise<Findings> {
  return {
    figures: [...(await watchEventFigures()), ...(await deciderFigures())],
    notes: [
      'Processor time of one process, both sides in turns.',
      'Events of a watch: 4,000 objects come, change three times and go; lines as an API server writes them, with managedFields. The agent reads them, takes them into owner graph, due times and pods, and looks for candidates after each 32 KiB.',
      'graph-gc: facts of 500 candidates, of which each is to be deleted; both sides compress what they send. What comes back from the broker is left out.',
    ],
  };
}

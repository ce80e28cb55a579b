import { readMeasured } from '../../../../packages/audit/simulate/pressure.ts';
import { readHeldNodes } from '../../../../packages/read-model/reporting-nodes.ts';
import { parseRecord } from '../../../../packages/records/parse/parse-record.ts';
import { nodeKey } from '../../../../schemas/events/identity.ts';
import { type Outcome, PASSED, REFUSED } from '../../engine/target.ts';
import { TAKEN_AT_MS } from './claims.ts';
import { logWith } from './message-log.ts';
import type { ReadMessage } from './topic-readers.ts';

const effect = (what: string): Outcome => ({ passed: true, effect: what });
const NEVER = new AbortController().signal;
const ALL = { fromMs: null, toMs: null };

/** What `fleetgc status` says of nodes that hold their removals back. */
export const heldNodesReader =
  (): ReadMessage =>
  async ({ record }) => {
    const held = await readHeldNodes(logWith(record), TAKEN_AT_MS, NEVER);
    const parsed = parseRecord('results', record);
    if (!parsed.ok) return held.size === 0 ? REFUSED : effect('what cannot be read holds a node');
    const isOfOther = [...held.keys()].some((key) => key !== nodeKey(parsed.event));
    return isOfOther ? effect('a result holds another node') : PASSED;
  };

/** What a simulation takes for measured by the node. */
export const measuredReader =
  (): ReadMessage =>
  async ({ record }) => {
    const measuredBy = await readMeasured(logWith(record), { partition: 0, range: ALL }, NEVER);
    const parsed = parseRecord('results', record);
    if (!parsed.ok) return REFUSED;
    if (parsed.event.type !== 'fleetgc.node.object-result') return PASSED;
    const { nodeInstance, object, result } = parsed.event;
    const measured = measuredBy(nodeInstance)(object);
    return measured !== null && result.outcome !== 'removed'
      ? effect('what was not removed is measured')
      : PASSED;
  };

import { endingId } from '../../../packages/decision/decision-record.ts';
import type { LogRecord } from '../../../packages/event-log/port.ts';
import { type DecidingAgain, decideAgain } from './decide-again.ts';
import { decidedBy } from './decided-by.ts';
import type { Decided } from './decided-outputs.ts';
import { noCounts } from './findings.ts';
import type { RecordedDecision } from './recorded-decision.ts';

/**
 * Decisions from right before the range: what follows from them may lie in it, and is compared with what they give. Only those
 * of which that is so are decided again, and none is counted.
 */
export function createEarlierDecisions(parts: DecidingAgain) {
  const causes = new Map<string, RecordedDecision>();
  const uncounted = { ...parts, findings: { ...parts.findings, counts: noCounts() } };
  return {
    decided: (decision: RecordedDecision): void => {
      const { id, outputIds } = decision.head;
      for (const output of [...outputIds, endingId(id)]) causes.set(output, decision);
    },
    /** What such a decision gives under this id; nothing where none does. */
    giving: async (id: string): Promise<readonly Decided[]> => {
      const decision = causes.get(id);
      if (decision === undefined) return [];
      causes.delete(id);
      const again = await decideAgain(decision, uncounted);
      return decidedBy(decision, again, parts.inputs).filter((decided) => decided.id === id);
    },
  };
}

/** Most decisions give nothing, and those need not be parsed. The fact that a reclaim ended is not among the listed ids. */
export const mayHaveOutputs = ({ value }: LogRecord): boolean =>
  value !== null && !(value.includes('"outputIds":[]') && value.includes('"reclaim":null'));

import type { FrozenDecider } from '../../../../packages/audit/deciders/deciders.ts';
import type {
  DecisionHeadOf,
  RecordedDecision,
} from '../../../../packages/audit/events/recorded-decision.ts';
import { canonicalJson, sha256Hex } from '../../../../packages/canonical/ids.ts';
import type { WrittenEvent } from '../../../../packages/decision/freezable-decider.ts';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { decisionId } from '../../../../packages/decision/record.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { inventory, NODE } from '../../../fixtures/inventory.ts';
import { NOW, SECOND } from '../../../fixtures/time.ts';
import { recordOf } from '../../../support/logs/log-record.ts';
import { at } from './support.ts';

/** An inventory at this offset, logged so many seconds after the beginning. */
export const look = (offset: number, over: Parameters<typeof inventory>[0] = {}): LogRecord =>
  recordOf(nodeOutput('inventory', inventory({ id: `look-${offset}`, ...over })), {
    offset: BigInt(offset),
    timestampMs: NOW + offset * SECOND,
  });

/** A decision of image-gc on a message, with the id that follows from what it says. */
export function decisionOn(
  message: LogRecord,
  head: Partial<DecisionHeadOf<'node'>> = {},
  value: unknown = RECORD,
): RecordedDecision {
  const said: Omit<DecisionHeadOf<'node'>, 'id'> = {
    ...NODE,
    decider: { name: 'image-gc', version: '1' },
    input: {
      topic: TOPICS.inventory.name,
      partition: message.partition,
      offset: String(message.offset),
      id: `look-${message.offset}`,
      sha256: sha256Hex(message.value ?? ''),
    },
    policySetHash: '',
    outcome: 'commanded',
    outputIds: [],
    ...head,
  };
  const { decider, input, policySetHash, overtakenBy } = said;
  const id = decisionId({
    decider,
    input: { event: { id: input.id }, position: { sha256: input.sha256 } },
    policies: { hash: policySetHash },
    overtakenBy,
  });
  return {
    record: at('decisions', 0, DECIDED_AFTER_MS),
    subject: { kind: 'node', key: `${NODE.cluster}/${NODE.node}` },
    value,
    head: { id, ...said },
  };
}

/** When decisions are logged, after the beginning. */
export const DECIDED_AFTER_MS = 3_600 * SECOND;

/** What the decider of these tests gives. */
export const RECORD = { type: 'record', reason: 'as it was' };
export const OUTPUT = { type: 'output', id: 'output-1' };

export const written = (event: object): WrittenEvent => ({ event, text: canonicalJson(event) });

/** A decider that gives the same whatever it is asked. */
export const decider = (over: Partial<FrozenDecider> = {}): FrozenDecider => ({
  name: 'image-gc',
  version: '1',
  reader: 'reader',
  read: (message) => message,
  decide: () => [RECORD, OUTPUT].map(written),
  passOver: () => written(RECORD),
  ...over,
});

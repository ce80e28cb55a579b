import type { DecisionHeadOf } from '../../../../packages/audit/events/recorded-decision.ts';
import type { Coverages } from '../../../../packages/audit/verify/coverage.ts';
import { createCollector } from '../../../../packages/audit/verify/findings.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import { NODE } from '../../../fixtures/inventory.ts';
import { NOW } from '../../../fixtures/time.ts';

/** Everything was read, and nothing was deleted. */
export const ALL: Coverages = {
  coverage: () => Number.NEGATIVE_INFINITY,
  kept: () => Number.NEGATIVE_INFINITY,
  beganAfter: () => false,
};

/** A record at its place, so long after the beginning by the log's clock; its value does not matter. */
export const at = (
  topicId: TopicId,
  offset: number,
  afterMs = 0,
  over: Partial<LogRecord> = {},
): LogRecord => ({
  topic: TOPICS[topicId].name,
  partition: 0,
  offset: BigInt(offset),
  key: `${NODE.cluster}/${NODE.node}`,
  value: Buffer.from('{}'),
  headers: {},
  timestampMs: NOW + afterMs,
  ...over,
});

export const AT_END = { beforeMs: Number.POSITIVE_INFINITY, atEnd: true } as const;
/** In the middle of the log, when it has come so far after the beginning. */
export const midway = (afterMs: number) => ({ beforeMs: NOW + afterMs, atEnd: false }) as const;

/** Takes findings, and says them as `kind place,place`. */
export function findings() {
  const collector = createCollector();
  const told = (list: 'deviations' | 'unverified') => (): string[] =>
    collector
      .found()
      [list].first.map(({ kind, places }) => `${kind} ${places.map(({ offset }) => offset).join(',')}`);
  return { collector, counts: collector.counts, deviations: told('deviations'), gaps: told('unverified') };
}

/** The head of a record that a decider published about a message of its topic. */
export const headOf = (
  name: string,
  offset: number,
  over: Partial<DecisionHeadOf<'node'>> = {},
): DecisionHeadOf<'node'> => ({
  ...NODE,
  id: `decision of ${name} on ${offset}`,
  decider: { name, version: '1' },
  input: {
    topic: TOPICS[name === 'pressure' ? 'diskStats' : 'inventory'].name,
    partition: 0,
    offset: String(offset),
    id: `message ${offset}`,
    sha256: '',
  },
  policySetHash: '',
  outcome: 'nothing-to-do',
  outputIds: [],
  ...over,
});

import { z } from 'zod';
import type { OutgoingRecord } from '../../../../packages/log/port.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { createDeadLetters } from '../../../../packages/records/dead-letters/dead-letters.ts';
import { TRUST_OFF } from '../../../../packages/records/trust/trust.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import {
  answerLambda,
  type LambdaAnswer,
} from '../../../../services/deciders/functions/lambda/answer-lambda.ts';
import { lambdaRecord } from '../../../../test/services/deciders/functions/support/lambda-events.ts';
import { madeUpPositions } from '../../../../test/support/logs/made-up-positions.ts';
import { NO_METRICS, SILENT } from '../../../../test/support/silent.ts';
import { type Outcome, PASSED, REFUSED, type Target } from '../../engine/target.ts';
import { toJson } from '../../mutate/json.ts';
import { asArray, asObject, schemaOf } from '../../mutate/schema.ts';
import { DECIDER, openFunction, SIGNED } from './opened.ts';

const PLACE = `${TOPICS.diskStats.name}-${SIGNED.partition}`;
const MINUTE_MS = 60_000;

const Record = z.object({
  topic: z.literal(TOPICS.diskStats.name),
  partition: z.literal(SIGNED.partition),
  offset: z.int().nonnegative(),
  timestamp: z.int(),
  timestampType: z.enum(['CREATE_TIME', 'LOG_APPEND_TIME']),
  key: z.base64().nullish(),
  value: z.base64().nullish(),
  headers: z.array(z.record(z.string(), z.array(z.int().min(-128).max(255)).nullable())).nullish(),
});

const { type, source } = { type: SIGNED.headers.ce_type ?? '', source: SIGNED.headers.ce_source ?? '' };
const record = lambdaRecord(SIGNED);
const bare = {
  ...record,
  headers: [{ ce_type: [...Buffer.from(type)] }, { ce_source: [...Buffer.from(source)] }],
};

const onTopic = (records: readonly OutgoingRecord[], name: string): number =>
  records.filter(({ topic }) => topic === name).length;

/** Each record that comes is decided on, kept as a dead letter, or asked for again: whatever it holds, none is lost. */
export const lambdaEvents: Target = {
  readers: ['the handler for AWS Lambda'],
  schema: schemaOf(z.object({ records: z.array(Record) })),
  seeds: () => [
    toJson({ records: [record] }),
    toJson({ records: [record, { ...record, offset: 43 }] }),
    toJson({ records: [bare, { ...record, headers: null }] }),
    toJson({ records: [{ ...record, value: null }, record] }),
  ],
  open: () => {
    let published: readonly OutgoingRecord[] = [];
    const open = openFunction(TRUST_OFF, {
      publish: async (records) => {
        published = [...published, ...records];
        return madeUpPositions(records);
      },
    });
    let nowMs = 0;
    const deadLetters = createDeadLetters({
      publisher: open.others,
      group: DECIDER.group,
      metrics: NO_METRICS,
      logger: SILENT,
      // Of one key so many are kept in a minute.
      now: () => {
        nowMs += MINUTE_MS;
        return nowMs;
      },
    });
    const { signal } = new AbortController();
    return async (input): Promise<Outcome> => {
      published = [];
      const given = asArray(asObject(input).records);
      const event = { eventSource: 'aws:kafka', records: { [PLACE]: given } };
      const answer = await taken(() => answerLambda(event, { open, deadLetters, signal }));
      if (answer === null) return REFUSED;
      const decided = onTopic(published, TOPICS.decisions.name);
      const kept = onTopic(published, TOPICS.deadLetters.name);
      const found = decided + kept + answer.batchItemFailures.length;
      if (found !== given.length)
        return { passed: true, effect: `of ${given.length} records ${found} are accounted for` };
      return decided > 0 ? PASSED : REFUSED;
    };
  },
};

/** `null` for what is no event at all, which Lambda is told. */
async function taken(answer: () => Promise<LambdaAnswer>): Promise<LambdaAnswer | null> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof FleetGcError && error.code === 'EVENT_REJECTED') return null;
    throw error;
  }
}

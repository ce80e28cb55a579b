import { z } from 'zod';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { boundsOf } from '../../../../services/deciders/functions/http/bounds.ts';
import { encodedHeader } from '../../../../services/deciders/functions/http/event-record.ts';
import type { ContentMode } from '../../../../services/deciders/functions/http/read-events.ts';
import { answerEvents } from '../../../../services/deciders/functions/http/run-function.ts';
import { diskStats } from '../../../../test/fixtures/disk-stats.ts';
import { lying, sentEvent } from '../../../../test/services/deciders/functions/support/function-events.ts';
import { lambdaRecord } from '../../../../test/services/deciders/functions/support/lambda-events.ts';
import { type Outcome, PASSED, REFUSED, type Target } from '../../engine/target.ts';
import { type Json, toJson } from '../../mutate/json.ts';
import { asObject, schemaOf } from '../../mutate/schema.ts';
import { edited } from '../files/written.ts';
import { DECIDER, openFunction, SIGNED, strictTrust } from './opened.ts';

const MODES = ['binary', 'structured', 'batch', 'kafka-records'] as const satisfies readonly ContentMode[];
const Mode = z.enum(MODES).catch('structured');
const [Stats] = TOPICS.diskStats.schemas;
const Texts = z.record(z.string(), z.string()).catch({});

const Attributes = z.object({
  specversion: z.literal('1.0'),
  id: z.string(),
  type: z.literal('fleetgc.node.disk-stats.v1'),
  source: z.string(),
  datacontenttype: z.string().optional(),
  partitionkey: z.string().optional(),
  fleetgctopic: z.enum([TOPICS.diskStats.name, TOPICS.inventory.name]).optional(),
  fleetgcpartition: z.string().regex(/^[0-9]{1,2}$/),
  fleetgcoffset: z.string().regex(/^[0-9]{1,18}$/),
  knativekafkapartition: z.string().optional(),
  knativekafkaoffset: z.string().optional(),
  fleetgckeyid: z.string().optional(),
  fleetgcsignature: z.string().optional(),
});

const SENT = sentEvent(lying('diskStats', diskStats()));
const { partitionkey: _, ...KNATIVE } = sentEvent(SIGNED).attributes;

const seed = (mode: ContentMode, attributes: object, isBase64: boolean): Json =>
  toJson({ mode, attributes, data: diskStats(), isBase64, edits: [] });

/** Its body and its headers, as a caller sends them. */
function sent({ mode, attributes, data = null, isBase64, edits = [] }: ReturnType<typeof asObject>) {
  const texts = Texts.parse(attributes);
  const bytes = Buffer.from(JSON.stringify(data));
  const event = { ...texts, ...(isBase64 === true ? { data_base64: bytes.toString('base64') } : { data }) };
  const record = { ...lambdaRecord(SIGNED), value: bytes.toString('base64') };
  const bodies: Readonly<Record<ContentMode, unknown>> = {
    binary: data,
    structured: event,
    batch: [event, event],
    'kafka-records': [record],
  };
  const kind = Mode.parse(mode);
  const headers = Object.entries(texts).flatMap(([name, text]) => [
    `ce-${name}`,
    encodedHeader(text.toWellFormed()),
  ]);
  return {
    mode: kind,
    contentType: 'application/json',
    rawHeaders: kind === 'binary' ? headers : [],
    body: Buffer.from(edited(JSON.stringify(bodies[kind]), edits)),
    wantsBatch: true,
  };
}

const Decided = z.array(z.object({ type: z.string(), data_base64: z.base64() })).min(1);
const Position = z.object({
  input: z.object({
    topic: z.literal(TOPICS.diskStats.name),
    partition: z
      .int()
      .min(0)
      .max(TOPICS.diskStats.partitions - 1),
    offset: z.string().regex(/^[0-9]{1,18}$/),
    sha256: z.string(),
  }),
});

/** Whoever calls has decisions made about events that lie somewhere; where facts are signed, about what their node said alone. */
export const functionRequest: Target = {
  readers: ['serve'],
  schema: schemaOf(
    z.object({
      mode: z.enum(MODES),
      attributes: Attributes,
      data: Stats,
      isBase64: z.boolean(),
      edits: z.array(z.tuple([z.int().nonnegative(), z.int().min(0).max(40), z.string()])),
    }),
  ),
  seeds: () => [
    ...MODES.map((mode) => seed(mode, SENT.attributes, true)),
    seed('structured', SENT.attributes, false),
    seed('structured', KNATIVE, false),
    seed('binary', KNATIVE, false),
  ],
  open: () => {
    const bounds = boundsOf(DECIDER.topics);
    const { signal } = new AbortController();
    const open = openFunction();
    const strict = openFunction(strictTrust());
    const signedText = SIGNED.value?.toString('utf8');
    return async (input): Promise<Outcome> => {
      const asked = sent(asObject(input));
      const answer = await answerEvents(asked, { open, bounds, signal });
      const strictly = await answerEvents(asked, { open: strict, bounds, signal });
      const isSigned = signedText === JSON.stringify(asObject(input).data ?? null);
      if (strictly.status === 200 && !isSigned && asked.mode !== 'kafka-records')
        return { passed: true, effect: 'something is decided on bytes that no node signed' };
      if (answer.status !== 200) return REFUSED;
      const records = Decided.parse(JSON.parse(answer.body.toString('utf8')))
        .filter(({ type }) => type === 'fleetgc.node.decision.v1')
        .map(({ data_base64: text }): unknown => JSON.parse(Buffer.from(text, 'base64').toString('utf8')));
      return records.length > 0 && records.every((record) => Position.safeParse(record).success)
        ? PASSED
        : { passed: true, effect: 'a decision does not name where its event lies' };
    };
  },
};

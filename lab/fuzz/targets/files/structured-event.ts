import { z } from 'zod';
import { RecordJudge } from '../../../../packages/audit/signed-events.ts';
import { TOPIC_NAMES } from '../../../../packages/log/partition.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import {
  structuredEvent as eventOf,
  readStructuredEvent,
} from '../../../../packages/records/structured-event.ts';
import { KeyRing } from '../../../../packages/records/trust/key-ring.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { certified, FLEET, newKey, onLog, rootsOf, SIGNED_AT_MS } from '../../../../test/fixtures/trust.ts';
import { type Outcome, PASSED, REFUSED, type Target } from '../../engine/target.ts';
import { type Json, toJson } from '../../mutate/json.ts';
import { asObject, schemaOf } from '../../mutate/schema.ts';
import { edited } from './written.ts';

const effect = (what: string): Outcome => ({ passed: true, effect: what });

const Event = z.object({
  specversion: z.literal('1.0'),
  id: z.string(),
  type: z.string(),
  source: z.string(),
  partitionkey: z.string().optional(),
  fleetgckeyid: z.string().optional(),
  fleetgcsignature: z.string().optional(),
  fleetgcgeneration: z.string().optional(),
  fleetgcrecord: z.base64().optional(),
  fleetgctopic: z.enum(TOPIC_NAMES),
  fleetgcpartition: z.int().nonnegative(),
  fleetgcoffset: z.string().regex(/^[0-9]{1,19}$/),
  fleetgctimems: z.string().regex(/^[0-9]{1,16}$/),
  fleetgcdatedbywriter: z.literal(true).optional(),
  data_base64: z.base64().optional(),
});

const [root, decider] = [newKey(), newKey()];
const HEADERS = { ce_specversion: '1.0', ce_id: 'one', ce_type: 'some.v1', ce_source: '/fleetgc/fuzz' };
const value = Buffer.from('{"says":"something"}');

const signed = (headers: LogRecord['headers']): LogRecord =>
  onLog(
    signRecord(
      { topic: TOPICS.commands.name, key: 'prod/web-1', value, headers },
      { fleet: FLEET, key: decider, generation: null },
    ),
  );

const seed = (record: LogRecord): Json => ({ event: toJson(eventOf(record)), edits: [] });

/** Whoever reads an event has to say of it what is said of the record that it becomes. */
export const structuredEvent: Target = {
  readers: ['keys verify'],
  schema: schemaOf(
    z.object({
      event: Event,
      edits: z.array(z.tuple([z.int().nonnegative(), z.int().min(0).max(40), z.string()])),
    }),
  ),
  seeds: () => [
    seed(signed(HEADERS)),
    seed(signed({ 'no-event': 'by its headers' })),
    seed({ ...signed(HEADERS), value: null, isDatedByWriter: true }),
    seed(certified(root, decider)),
  ],
  open: () => {
    const [ring, statements] = [new KeyRing(rootsOf(root)), new KeyRing(rootsOf(root))];
    for (const each of [ring, statements]) each.add(certified(root, decider));
    const judge = new RecordJudge({ ring, statements, nowMs: SIGNED_AT_MS });
    return (input) => {
      const { event = null, edits = [] } = asObject(input);
      const read = readStructuredEvent(Buffer.from(edited(JSON.stringify(event), edits)));
      if (!read.ok) return REFUSED;
      const { verdict } = judge.judge(read.record);
      const isOther = read.record.key !== 'prod/web-1' || !(read.record.value?.equals(value) ?? false);
      const isOfDecider = read.record.topic === TOPICS.commands.name;
      return isOther && isOfDecider && (verdict === 'good' || verdict === 'no-event')
        ? effect('bytes that nobody signed are taken for signed')
        : PASSED;
    };
  },
};

import { z } from 'zod';
import { placeOf, placeText } from '../../../packages/audit/events/log-position.ts';
import { TOPIC_NAMES } from '../../../packages/log/partition.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { Text, TextList, withMeta } from '../../../packages/process/options/options.ts';
import { CAUSES_FIRST, type RecordedLog, type TimeRange } from '../../../packages/records/read-log.ts';
import { MAX_EVENT_BYTES, structuredEvent } from '../../../packages/records/structured-event.ts';
import { counted } from '../../../packages/text/counted.ts';
import { TOPICS, type TopicName } from '../../../schemas/events/topics.ts';
import { openAuditLog } from '../../framework/audit-log.ts';
import { jsonLine } from '../../framework/output.ts';
import { defineVerb, type VerbContext } from '../../framework/verb.ts';
import { auditLogOptions } from '../../options/archive-options.ts';
import { rangeOptions, timeRange } from '../../options/time-options.ts';

export const verb = defineVerb({
  help: [
    'Prints records as they lie on the event log or in an archive, a CloudEvent in structured mode a line, with their exact bytes in data_base64. "keys verify" says of such lines who signed them.',
    'Exit codes: 0 all were printed, 2 wrong options, 3 some are too large to be printed (it names them).',
  ],
  examples: [
    'fleetgc audit events --topic gc.policies --kafka-brokers kafka:9092',
    'fleetgc audit events --topic gc.node.commands --key prod/web-1 --from 24h --log archive --archive /srv/fleetgc-archive',
  ],
  options: z.object({
    topic: withMeta(TextList.pipe(z.array(z.enum(TOPIC_NAMES))).prefault([]), {
      commandLineOnly: true,
      placeholder: 'TOPIC,…',
      description: 'Of these topics only. Default: all, one after the other.',
    }),
    key: withMeta(Text.optional(), {
      commandLineOnly: true,
      description: 'With this record key only, such as prod/web-1.',
    }),
    ...rangeOptions,
    ...auditLogOptions,
  }),
  run: async ({ topic, key, from, to, ...options }, context) => {
    await using log = await openAuditLog(options, context);
    const range = await timeRange({ from, to }, { log, nowMs: Date.now(), signal: context.signal });
    const printer = new EventPrinter(context);
    for (const name of topic.length === 0 ? ALL : topic)
      for await (const record of recordsOf(log, name, range, context.signal))
        if (key === undefined || record.key === key) await printer.print(record);
    printer.requireAll();
  },
});

class EventPrinter {
  readonly #context: Pick<VerbContext, 'logger' | 'write'>;
  #leftOut = 0;

  constructor(context: Pick<VerbContext, 'logger' | 'write'>) {
    this.#context = context;
  }

  /** What nobody would read is told of, and left out. */
  async print(record: LogRecord): Promise<void> {
    const { logger, write } = this.#context;
    const text = jsonLine(structuredEvent(record));
    if (Buffer.byteLength(text) <= MAX_EVENT_BYTES) return await write(`${text}\n`);
    this.#leftOut += 1;
    logger.warn(`${placeText(placeOf(record))} is larger than any record that FleetGC reads`);
  }

  /** Throws `AUDIT_INCOMPLETE`. */
  requireAll(): void {
    if (this.#leftOut === 0) return;
    const were = this.#leftOut === 1 ? 'was' : 'were';
    throw new FleetGcError(
      'AUDIT_INCOMPLETE',
      `${counted(this.#leftOut, 'record')} ${were} left out, as too large`,
    );
  }
}

const ALL: readonly TopicName[] = CAUSES_FIRST.map((topicId) => TOPICS[topicId].name);

async function* recordsOf(
  log: RecordedLog,
  topic: TopicName,
  { fromMs, toMs }: TimeRange,
  signal: AbortSignal,
): AsyncGenerator<LogRecord> {
  const from = fromMs === null ? 'earliest' : { timestampMs: fromMs };
  for await (const event of log.read({ topic, from, to: 'end' }, signal))
    if (event.kind === 'record' && (toMs === null || event.record.timestampMs < toMs)) yield event.record;
}

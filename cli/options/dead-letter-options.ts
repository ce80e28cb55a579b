import { z } from 'zod';
import type { ReadFrom } from '../../packages/log/port.ts';
import { Text, withMeta } from '../../packages/process/options/options.ts';
import type { LetterFilter } from '../../packages/read-model/letters.ts';
import { DeadLetterCause } from '../../schemas/events/dead-letter.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { DurationMs } from '../../schemas/policy/quantity.ts';

const aboutWhich = { commandLineOnly: true } as const;

/** Which dead letters a verb is about; every given condition must hold. */
export const letterFilterOptions = {
  topic: withMeta(z.enum(Object.values(TOPICS).map(({ name }) => name)).optional(), {
    ...aboutWhich,
    placeholder: 'TOPIC',
    description: 'Only messages of this topic.',
  }),
  cause: withMeta(DeadLetterCause.optional(), {
    ...aboutWhich,
    description: 'Only those with this cause.',
  }),
  group: withMeta(Text.optional(), {
    ...aboutWhich,
    placeholder: 'GROUP',
    description: 'Only those that this consumer group gave up.',
  }),
  key: withMeta(Text.optional(), {
    ...aboutWhich,
    placeholder: 'CLUSTER/NODE',
    description: 'Only messages with this record key.',
  }),
  since: withMeta(DurationMs.optional(), {
    ...aboutWhich,
    placeholder: 'DURATION',
    description: 'Only those of the last so long, e.g. 24h.',
  }),
};

const Filter = z.object(letterFilterOptions);
type Given = { readonly [Key in keyof z.infer<typeof Filter>]: z.infer<typeof Filter>[Key] | undefined };

export const toLetterFilter = ({ topic, cause, group, key }: Given, redriven: boolean): LetterFilter => ({
  topic,
  cause,
  group,
  key,
  redriven,
});

export const readFrom = ({ since }: Pick<Given, 'since'>, nowMs: number): ReadFrom =>
  since === undefined ? 'earliest' : { timestampMs: Math.max(0, nowMs - since) };

import { z } from 'zod';
import { DeadLetterCause } from '../../schemas/dead-letter.ts';
import { DurationMs } from '../../schemas/quantity.ts';
import { TOPICS } from '../../schemas/topics.ts';
import type { LetterFilter } from '../dead-letters/choose-letters.ts';
import type { ReadFrom } from '../shared/event-log/port.ts';
import { Text, withMeta } from '../shared/option-types.ts';

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

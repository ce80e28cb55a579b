import type { Logger } from 'pino';
import { z } from 'zod';
import { type ComparedRedrive, compareChosen, redrive } from '../../packages/actions/redrive.ts';
import { letterLines, letterSummary, letterTable } from '../../packages/documents/letters.ts';
import type { ReadFrom } from '../../packages/log/port.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { Switch, Text, withMeta } from '../../packages/process/options/options.ts';
import {
  filterLetters,
  findLetters,
  readLetterSummaries,
  readLettersBeginning,
  readStoredLetters,
} from '../../packages/read-model/letters.ts';
import { DeadLetterCause } from '../../schemas/events/dead-letter.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { DurationMs } from '../../schemas/policy/quantity.ts';
import { objectOptions, printObjects } from '../framework/output.ts';
import { openTaskEventLog, operatorPublication } from '../framework/task-event-log.ts';
import { defineVerb } from '../framework/verb.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { doing, doingOptions } from '../options/steering-options.ts';

const aboutWhich = { commandLineOnly: true } as const;

/** Which dead letters a verb is about; every given condition must hold. */
const letterFilterOptions = {
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

const readFrom = (sinceMs: number | undefined, nowMs: number): ReadFrom =>
  sinceMs === undefined ? 'earliest' : { timestampMs: Math.max(0, nowMs - sinceMs) };

export const listVerb = defineVerb({
  help: [
    'A consumer that cannot process a message keeps it as a dead letter and goes on. At most 10 per minute and key are kept; more are counted.',
  ],
  examples: [
    'fleetgc dead-letters list --since 24h',
    'fleetgc dead-letters list --cause wrong-schema --key prod/web-1',
  ],
  options: z.object({
    ...letterFilterOptions,
    all: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Also those whose message was put back.',
    }),
    ...objectOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ topic, cause, group, key, since, all, output, ...options }, context) => {
    const { logger, write, signal } = context;
    await using log = await openTaskEventLog({ options, context });
    const stored = await readLetterSummaries(log, readFrom(since, Date.now()), signal);
    const letters = filterLetters(stored.letters, { topic, cause, group, key, redriven: all });
    if (stored.unreadable > 0)
      logger.warn(`${stored.unreadable} records on the topic are no dead letters and are left out`);
    if (letters.length === 0) logger.info('There are no such dead letters.');
    await printObjects({ write }, output, {
      value: letters.map(letterSummary),
      lines: letterTable(letters, false),
      wideLines: letterTable(letters, true),
      names: letters.map(({ letter }) => letter.id),
    });
  },
});

export const showVerb = defineVerb({
  examples: [
    'fleetgc dead-letters show dead-letter-3f2a',
    'fleetgc dead-letters show dead-letter-3f2a -o json',
  ],
  options: z.object({
    id: withMeta(Text, {
      positional: true,
      placeholder: 'ID',
      description: 'Id of the dead letter, or enough of its beginning.',
    }),
    ...objectOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ id, output, ...options }, context) => {
    await using log = await openTaskEventLog({ options, context });
    const { letters } = await readLettersBeginning(log, [id], context.signal);
    const found = findLetters(letters, id);
    if (found.length > 1)
      context.logger.warn(
        `${found.length} dead letters have this id, and at most one of them is true: redrive puts back only what lies at its position`,
      );
    const [first] = found;
    await printObjects(context, output, {
      value: found.length === 1 ? first : found,
      lines: found.flatMap((letter, index) => [...(index === 0 ? [] : ['']), ...letterLines(letter)]),
      names: found.slice(0, 1).map(({ letter }) => letter.id),
    });
  },
});

export const redriveVerb = defineVerb({
  help: [
    'Puts each message back unchanged: it reads the original again, which must be what the dead letter holds, byte for byte. Only facts about nodes go back, never orders or policies. A note beside the dead letter keeps it from going back a second time by mistake. If anything is refused, the exit code is 1.',
  ],
  examples: [
    'fleetgc dead-letters redrive dead-letter-3f2a',
    'fleetgc dead-letters redrive --all --topic gc.node.inventory --since 2h --dry-run',
  ],
  options: z.object({
    ids: withMeta(z.array(z.string()).optional(), {
      kind: 'list',
      positional: true,
      placeholder: 'ID',
      description: 'Ids of dead letters, or enough of their beginnings.',
    }),
    all: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'All that the conditions below select, instead of ids.',
    }),
    ...letterFilterOptions,
    again: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Also those whose message was put back before.',
    }),
    dryRun: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Say what would be put back, and change nothing.',
    }),
    ...doingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async (
    { ids = [], all, again, dryRun, by, reason, topic, cause, group, key, since, ...options },
    context,
  ) => {
    const { logger, print, signal } = context;
    const conditions = [topic, cause, group, key, since];
    requireChoice(
      ids,
      all,
      conditions.some((value) => value !== undefined),
    );
    if (!dryRun) context.written.expect();
    await using log = await openTaskEventLog({ options, context });
    const { letters } = all
      ? await readStoredLetters(log, readFrom(since, Date.now()), signal)
      : await readLettersBeginning(log, ids, signal);
    const chosen = all
      ? filterLetters(letters, { topic, cause, group, key, redriven: again })
      : ids.flatMap((id) => findLetters(letters, id));
    const compared = await compareChosen([...new Set(chosen)], { log, again }, signal);
    const { confirmed, refused } = compared;
    reportAside(compared, logger);
    const total = confirmed.length;
    if (dryRun) print(`${messages(total)} would be put back`);
    else {
      const onProgress = (count: number): void =>
        context.progress.report(() => `${count} of ${messages(total)} put back`);
      const own = { publication: operatorPublication(), doing: doing({ by, reason }, context) };
      const count = await redrive(confirmed, { log, ...own, signal, onProgress });
      print(`${messages(count)} put back`);
      if (count < total) throw stoppedEarly(count, total);
    }
    if (refused.length > 0) throw refusal(refused.length);
  },
});

const stoppedEarly = (count: number, total: number): FleetGcError =>
  new FleetGcError('INTERRUPTED', `stopped after ${count} of ${messages(total)}`);

const refusal = (count: number): FleetGcError =>
  new FleetGcError(
    'REDRIVE_REFUSED',
    `${count === 1 ? '1 dead letter is' : `${count} dead letters are`} not put back, for the reasons above`,
  );

function requireChoice(ids: readonly string[], all: boolean, conditions: boolean): void {
  if (ids.length === 0 && !all)
    throw new FleetGcError(
      'USAGE',
      'give ids of dead letters, or --all; "fleetgc dead-letters list" shows them',
    );
  if (ids.length > 0 && (all || conditions))
    throw new FleetGcError('USAGE', 'give either ids, or --all with conditions');
}

function reportAside({ done, refused }: ComparedRedrive, logger: Logger): void {
  if (done.length > 0)
    logger.info(`${done.length} put back before and left alone now; --again puts them back once more`);
  for (const { letter, reason } of refused) logger.warn(`${letter.id} is not put back: ${reason}`);
}

const messages = (count: number): string => (count === 1 ? '1 message' : `${count} messages`);

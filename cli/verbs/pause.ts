import type { Logger } from 'pino';
import { z } from 'zod';
import {
  type EndedPauses,
  endPauses,
  pauseTakesHold,
  pauseText,
  type ResumeRequest,
} from '../../packages/actions/pauses.ts';
import { selectorText } from '../../packages/policy/selector-text.ts';
import { readStoredPolicies } from '../../packages/policy/stored-policies.ts';
import { writePause } from '../../packages/policy/write-policies.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { Switch, withMeta } from '../../packages/process/options/options.ts';
import { warnUnlessSelected } from '../../packages/read-model/policy-doubts.ts';
import type { NodeSelector } from '../../schemas/policy/policy.ts';
import { openPolicyWriter } from '../framework/policy-writer.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb } from '../framework/verb.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import {
  doing,
  doingOptions,
  pauseSelectorOptions,
  resumeOnEventLog,
  toPauseSelector,
} from '../options/steering-options.ts';
import { readOperatorTrust, writingOptions } from '../options/trust-options.ts';

export const pauseVerb = defineVerb({
  help: [
    'Without options it pauses the whole fleet. Decisions are still made and recorded. A node refuses earlier commands as soon as it has read the pause, and in any case once they expire.',
  ],
  examples: [
    'fleetgc pause --reason "registry is down"',
    'fleetgc pause --cluster prod --node-name "db-*"',
    'fleetgc pause --pool gpu',
  ],
  options: z.object({
    ...pauseSelectorOptions,
    ...doingOptions,
    ...writingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ cluster, nodeName, pool, reason, by, ...options }, context) => {
    const selector = toPauseSelector({ cluster, nodeName, pool });
    const trust = await readOperatorTrust(options, context.signal);
    await using log = await openTaskEventLog({ options, context });
    await writePause(
      await openPolicyWriter(log, trust, context, options),
      selector,
      doing({ by, reason }, context),
    );
    context.print(`paused: ${selectorText(selector)}`);
    const stored = await readStoredPolicies(log, context.signal);
    context.logger.info(
      `${pauseTakesHold(stored)} fleetgc status says how many nodes it is for. This undoes it: ${resumeOnEventLog(selector, options)}`,
    );
    await warnUnlessSelected(selector, { log, logger: context.logger }, context.signal);
  },
});

export const resumeVerb = defineVerb({
  help: ['Ends the pause that was begun with the same options.'],
  examples: ['fleetgc resume', 'fleetgc resume --cluster prod --node-name "db-*"', 'fleetgc resume --all'],
  options: z.object({
    ...pauseSelectorOptions,
    all: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'End every pause.',
    }),
    ...doingOptions,
    ...writingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ cluster, nodeName, pool, all, by, reason, ...options }, context) => {
    if (all && (cluster ?? nodeName ?? pool) !== undefined)
      throw new FleetGcError('USAGE', '--all ends every pause; leave --cluster, --node-name and --pool out');
    const trust = await readOperatorTrust(options, context.signal);
    await using log = await openTaskEventLog({ options, context });
    const writer = await openPolicyWriter(log, trust, context, options);
    const stored = await readStoredPolicies(log, context.signal);
    const selector = toPauseSelector({ cluster, nodeName, pool });
    const request: ResumeRequest = all ? { kind: 'all' } : { kind: 'one', selector };
    const ended = await endPauses(writer, stored, request, doing({ by, reason }, context));
    if (ended.kind === 'not-held') return tellUnheld(ended, selector, context.logger);
    const { pauses } = ended;
    for (const pause of pauses) context.print(`resumed: ${pauseText(pause)}`);
    if (pauses.size === 0) context.logger.info(NONE_HELD);
    if (!all) await warnUnlessSelected(selector, { log, logger: context.logger }, context.signal);
  },
});

/** Throws `NOT_FOUND` where something else is paused. */
function tellUnheld(
  { isWritten, error }: Extract<EndedPauses, { kind: 'not-held' }>,
  selector: NodeSelector,
  logger: Logger,
): void {
  if (isWritten) logger.info(endWritten(selector));
  else if (error === null) logger.info('Nothing is paused.');
  if (error !== null) throw error;
}

const NONE_HELD =
  'gc.policies holds no pause. Services and nodes that remember one of an earlier gc.policies go on holding, and say in their logs and at /readyz which command ends it.';

const endWritten = (selector: NodeSelector): string =>
  `gc.policies holds no pause of ${selectorText(selector)}. Its end was written there all the same: services and nodes that remember one of an earlier gc.policies let go of it when they read this.`;

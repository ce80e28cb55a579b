import { z } from 'zod';
import { createLogger } from '../../packages/process/logger.ts';
import { configError, parseOptions } from '../../packages/process/options/read-options.ts';
import { createDeadLetters } from '../../packages/records/dead-letters/dead-letters.ts';
import type { DecisionService } from '../../packages/service/decision-writing.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import {
  type DecisionFunction,
  decisionFunction,
} from '../../services/deciders/functions/decision-function.ts';
import { answerLambda, type LambdaAnswer } from '../../services/deciders/functions/lambda/answer-lambda.ts';
import { openServedFunction, type ServedFunction } from '../framework/open-function.ts';
import { requireSupportedNode } from '../framework/program.ts';
import { loggingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { functionOptions } from '../options/function-options.ts';
import { deciderTrustOptions, readDeciderTrust } from '../options/trust-options.ts';

const Options = z.object({
  ...loggingOptions,
  ...functionOptions,
  ...deciderTrustOptions,
  ...eventLogOptions('kafka'),
});

interface Opened {
  readonly served: ServedFunction;
  readonly answer: (event: unknown) => Promise<LambdaAnswer>;
}

/**
 * What AWS Lambda calls for a Kafka event source. It is set up by the first call from the environment, and stays for those that follow. A
 * function that is frozen between calls cannot follow a topic, and what it says in heads comes late, or never.
 */
export function lambdaHandler<Kind extends SubjectKind>(
  service: DecisionService<Kind>,
): (event: unknown) => Promise<LambdaAnswer> {
  const decider = decisionFunction(service);
  let opened: Promise<Opened> | null = null;
  return async (event) => {
    opened ??= open(decider);
    try {
      const { answer } = await opened;
      return await answer(event);
    } catch (error) {
      const failed = opened;
      // What could not be set up is tried again by the next call.
      await failed.catch(() => {
        if (opened === failed) opened = null;
      });
      throw error;
    }
  };
}

async function open(decider: DecisionFunction): Promise<Opened> {
  requireSupportedNode(process.versions.node);
  const { signal } = new AbortController();
  const parsed = parseOptions(Options, { flags: {}, environment: process.env, file: null });
  if (!parsed.ok) throw configError(parsed.problems);
  const { value: given } = parsed;
  if (given.policy?.kind === 'topic') throw configError([NO_TOPIC]);
  const stderr = { isTerminal: false, write: (line: string) => process.stderr.write(line) };
  const logger = createLogger({ service: `lambda ${decider.name}`, level: given.logLevel }, stderr);
  const trust = await readDeciderTrust(given, signal);
  const served = await openServedFunction(decider, given, trust, { logger, signal });
  const { open: opened, metrics } = served;
  const deadLetters = opened.publishes
    ? createDeadLetters({
        publisher: opened.others,
        group: decider.group,
        metrics,
        logger,
        now: opened.monotonicNow,
      })
    : null;
  return { served, answer: (event) => answerLambda(event, { open: opened, deadLetters, signal }) };
}

const NO_TOPIC =
  'FLEETGC_POLICY is topic: between calls a function is frozen and cannot follow it. Name a document of policies';

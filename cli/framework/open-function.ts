import { openEventLog } from '../../packages/log/open.ts';
import { POLICY_RECHECK_MS } from '../../packages/policy/policies.ts';
import type { Check } from '../../packages/process/http.ts';
import { addProcessMetrics, createMetrics, type Metrics } from '../../packages/process/metrics.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { PRODUCT_VERSION } from '../../packages/process/product-version.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import type { TrustChoice } from '../../packages/records/trust/process-trust.ts';
import type { DecisionFunction } from '../../services/deciders/functions/decision-function.ts';
import {
  functionOn,
  type OpenFunction,
  openWithoutTopics,
} from '../../services/deciders/functions/open-function.ts';
import { followedPolicies } from '../../services/deciders/functions/policies/function-policies.ts';
import { type EventLogChoice, readEventLogSettings } from '../options/event-log-options.ts';
import { readDocument } from '../options/function-options.ts';
import { openServiceOn } from './open-service.ts';
import type { VerbContext } from './verb.ts';

type Given = EventLogChoice & Parameters<typeof readDocument>[0];

/** A function with what tells how it is. */
export interface ServedFunction extends AsyncDisposable {
  readonly open: OpenFunction;
  readonly metrics: Metrics;
  readonly checks: () => readonly Check[];
}

/** Opens the event log only where it is needed. Throws `CONFIG_INVALID`. */
export const openServedFunction = (
  decider: DecisionFunction,
  given: Given,
  trust: TrustChoice,
  context: Pick<VerbContext, 'logger' | 'signal'>,
): Promise<ServedFunction> =>
  given.policy?.kind === 'topic'
    ? openOnTopic(decider, given, trust, context)
    : openOnDocument(decider, given, trust, context);

async function openOnTopic(
  decider: DecisionFunction,
  given: Given,
  choice: TrustChoice,
  { logger }: Pick<VerbContext, 'logger'>,
): Promise<ServedFunction> {
  readDocument(given);
  const eventLog = readEventLogSettings(given, { clientId: clientId(decider), readTextFile });
  const process = await openServiceOn({
    service: decider.name,
    eventLog,
    trust: choice,
    httpAddress: null,
    logger,
  });
  const { log, trust, signer, heads, belief, metrics, sources } = process;
  const policies = followedPolicies(process.followPolicies(POLICY_RECHECK_MS));
  const open = functionOn(decider, policies, {
    log: given.publish ? log : null,
    kafkaPrefix: given.kafkaPrefix ?? '',
    metrics,
    logger,
    sources,
    trust,
    signer,
    heads,
    belief,
  });
  return {
    open,
    metrics,
    checks: () => process.checks(),
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}

async function openOnDocument(
  decider: DecisionFunction,
  given: Given,
  trust: TrustChoice,
  { logger, signal }: Pick<VerbContext, 'logger' | 'signal'>,
): Promise<ServedFunction> {
  const document = readDocument(given);
  const sources = systemSources;
  const metrics = createMetrics();
  addProcessMetrics(metrics, { service: decider.name, version: PRODUCT_VERSION });
  await using opening = new AsyncDisposableStack();
  const log = given.publish
    ? opening.use(
        await openEventLog(readEventLogSettings(given, { clientId: clientId(decider), readTextFile }), {
          logger,
          ...sources,
        }),
      )
    : null;
  const { open, checks } = opening.use(
    await openWithoutTopics(
      { decider, document, trust, log, kafkaPrefix: given.kafkaPrefix ?? '', metrics, logger, sources },
      signal,
    ),
  );
  const ofLog: Check = { name: 'event log', problem: () => log?.health().problem ?? null };
  const disposing = opening.move();
  return {
    open,
    metrics,
    checks: () => (log === null ? checks : [ofLog, ...checks]),
    [Symbol.asyncDispose]: () => disposing.disposeAsync(),
  };
}

const clientId = ({ name }: DecisionFunction): string => `fleetgc-function-${name}`;

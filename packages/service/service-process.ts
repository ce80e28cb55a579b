import type { Logger } from 'pino';
import type { Following } from '../log/follow-topic.ts';
import { type EventLogOptions, openEventLog } from '../log/open.ts';
import type { EventLog } from '../log/port.ts';
import { type PolicySource, startPolicySource } from '../policy/policies.ts';
import { SeenVersions } from '../policy/seen-versions.ts';
import { type Check, type ProbeServer, serveHttp } from '../process/http.ts';
import { addProcessMetrics, type Build, createMetrics, type Metrics } from '../process/metrics.ts';
import type { Address } from '../process/options/options.ts';
import type { Sources } from '../process/system-sources.ts';
import type { Tracer } from '../process/tracer.ts';
import type { KeySource } from '../records/trust/key-source.ts';
import { type ProcessTrust, startTrust, type TrustChoice } from '../records/trust/process-trust.ts';
import type { RenewedKey } from '../records/trust/renewed-key.ts';
import { type Signer, UNSIGNED } from '../records/trust/signer.ts';
import { signsFactsAlone, type Trust } from '../records/trust/trust.ts';
import { openTracer } from '../tracing/open-tracer.ts';
import type { OpenTracer, TracingChoice } from '../tracing/port.ts';
import type { HeadSources } from './decision-chain.ts';
import type { Belief } from './key-gate.ts';

interface ServiceProcessSettings {
  readonly build: Build;
  readonly eventLog: EventLogOptions;
  readonly trust: TrustChoice;
  /** `null`: no health and no metrics over HTTP. */
  readonly httpAddress: Address | null;
  /** Nobody asked for traces when not given. */
  readonly tracing?: TracingChoice | null;
  readonly logger: Logger;
  readonly sources: Sources;
}

/** What every service process has: the event log, metrics, and health over HTTP. Disposing closes them in order. */
export interface ServiceProcess extends AsyncDisposable {
  readonly log: EventLog;
  /** Whose messages count here, and what signs ours. */
  readonly trust: Trust;
  readonly signer: Signer;
  /** What heads are made of; `null` where nothing is signed. */
  readonly heads: HeadSources | null;
  /** Whether orders that are signed here count. */
  readonly belief: Belief;
  readonly metrics: Metrics;
  /** `null` where nobody asked for traces. */
  readonly tracer: Tracer | null;
  readonly logger: Logger;
  readonly sources: Sources;
  /** The address that is served, or `null`. */
  readonly httpAddress: Address | null;
  /** The process is ready only while every check is well. The event log is one already. */
  addCheck(check: Check): void;
  /** Those of this moment. */
  checks(): readonly Check[];
  /** Follows the policies until the process ends, as a check of its own. See `PolicySourceSettings.recheckMs`. */
  followPolicies(recheckMs: number | null): PolicySource;
}

/** Serves health from the first moment, so that a process that waits for its log can say so. */
export async function openServiceProcess(settings: ServiceProcessSettings): Promise<ServiceProcess> {
  const { build, eventLog, trust: choice, httpAddress, logger } = settings;
  const metrics = createMetrics();
  addProcessMetrics(metrics, build);
  const checks: Check[] = [];
  await using opening = new AsyncDisposableStack();
  const tracer = await tracerOf(settings, metrics);
  if (tracer !== null) opening.use(tracer);
  const sources = { ...settings.sources, ...(tracer && { traceIds: tracer.ids }) };
  const http = httpAddress && (await serveHttp({ address: httpAddress, metrics, checks: () => checks }));
  if (http) opening.use(http);
  checks.push({ name: 'event log', problem: () => 'it is being opened' });
  const log = opening.use(await openEventLog(eventLog, { logger, ...sources }));
  checks.splice(0, 1, { name: 'event log', problem: () => healthProblem(log) });
  if (http) reportAddress(logger, http);
  const monotonic = { now: sources.monotonicNow, random: sources.random, wait: sources.wait };
  const trusting = opening.use(
    startTrust({ choice, log, logger, metrics, sources: monotonic, nowMs: sources.now }),
  );
  const { trust, signer, keys, signingKey } = trusting;
  if (keys !== null) checks.push({ name: 'keys', problem: () => keys.problem() });
  if (signingKey !== null) checks.push(signingKeyCheck(signingKey, choice));
  const open = opening.move();
  return {
    log,
    trust,
    signer,
    ...beliefOf({ keys, signer, signingKey }, choice, sources),
    metrics,
    tracer,
    logger,
    sources,
    httpAddress: http?.address ?? null,
    addCheck: (check) => checks.push(check),
    checks: () => checks,
    followPolicies: (recheckMs) => {
      const following = { log, logger, metrics, sources: monotonic, recheckMs, trusting };
      const { policies, checks: ofPolicies } = open.use(followPolicies(following));
      checks.push(...ofPolicies);
      return policies;
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** What a process knows of whether what it signs is believed. */
interface OwnKeys extends Pick<ProcessTrust, 'signer' | 'signingKey'> {
  readonly keys: Pick<KeySource, 'ring' | 'problem'> | null;
}

export const beliefOf = (
  { keys, signer, signingKey }: OwnKeys,
  choice: TrustChoice,
  { newId, wait }: Pick<Sources, 'newId' | 'wait'>,
): Pick<ServiceProcess, 'heads' | 'belief'> => ({
  heads:
    keys === null || signer === UNSIGNED
      ? null
      : {
          newId,
          statements: () => keys.ring().generations,
          // At the end of a process, who cannot ask says what it has written all the same.
          problem: () => (keys.problem() === null ? (signingKey?.problem() ?? null) : null),
          wait,
        },
  belief: {
    problem: () => (keys?.problem() === null && signsOrders(choice) ? (signingKey?.problem() ?? null) : null),
    wait,
  },
});

async function tracerOf(
  { tracing = null, build, eventLog, logger, sources }: ServiceProcessSettings,
  metrics: Metrics,
): Promise<OpenTracer | null> {
  if (tracing === null) return null;
  logger.info({ url: tracing.url }, 'traces are exported');
  return await openTracer(tracing, {
    ids: sources.traceIds,
    resource: {
      'service.name': `fleetgc-${build.service}`,
      'service.version': build.version,
      'service.instance.id': sources.newId(),
    },
    ofMessages: { 'messaging.system': eventLog.kind === 'kafka' ? 'kafka' : 'fleetgc' },
    metrics,
    logger,
    monotonicNow: sources.monotonicNow,
  });
}

/** Whether it signs orders or policies where none counts without a signature. */
const signsOrders = (choice: TrustChoice): boolean =>
  choice.kind === 'required' && choice.signing !== null && !signsFactsAlone(choice.signing.role);

/** Where no order counts that it signs, the process is of no use. Nodes and clusters go on, since nobody may ask who signed their facts. */
function signingKeyCheck(signingKey: RenewedKey, choice: TrustChoice): Check {
  const isNeeded = signsOrders(choice);
  return {
    name: 'signing key',
    problem: () => (isNeeded ? signingKey.problem() : null),
    notice: () => signingKey.pending() ?? signingKey.problem(),
  };
}

function healthProblem(log: EventLog): string | null {
  const { connected, problem } = log.health();
  return connected ? null : (problem ?? 'not connected');
}

const reportAddress = (logger: Logger, { address }: ProbeServer): void =>
  logger.info({ host: address.host, port: address.port }, 'serving health and metrics');

interface FollowPolicies {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly sources: Following['sources'];
  /** See `PolicySourceSettings.recheckMs`. */
  readonly recheckMs: number | null;
  readonly trusting: ProcessTrust;
}

/** The policies of a process, with what makes it ready or not. */
interface FollowedPolicies extends AsyncDisposable {
  readonly policies: PolicySource;
  readonly checks: readonly Check[];
}

/** Follows the policies as soon as the keys are known, and what was seen before where the process learns that from the log. */
function followPolicies(settings: FollowPolicies): FollowedPolicies {
  const { log, logger, metrics, sources, recheckMs, trusting } = settings;
  const { trust, keys, seen } = trusting;
  const opened = new AsyncDisposableStack();
  const following = { log, logger, trust, seen, sources };
  const learnsFromVersions = keys !== null && trusting.learnsFrom === 'policy-versions';
  const versions = learnsFromVersions
    ? opened.use(
        new SeenVersions({
          ...following,
          startsAfter: keys.caughtUp,
          onLearnt: () => policies.readAgain(),
        }),
      )
    : null;
  const startsAfter = versions?.learnt ?? keys?.caughtUp;
  const policies: PolicySource = opened.use(
    startPolicySource({ ...following, metrics, recheckMs, startsAfter }),
  );
  keys?.onChange(() => policies.readAgain());
  keys?.onChange(
    whenChanged(
      () => JSON.stringify(keys.ring().keys()),
      () => versions?.readAgain(),
    ),
  );
  const ofPolicies: Check = {
    name: 'policies',
    problem: () => policies.problem() ?? policies.unreadable(),
  };
  return {
    policies,
    checks:
      versions === null
        ? [ofPolicies]
        : [{ name: 'policy versions', problem: () => versions.problem() }, ofPolicies],
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** The versions are kept for ever: they are read anew only where something else may come out. */
function whenChanged(stateOf: () => string, act: () => void): () => void {
  let last = stateOf();
  return () => {
    const now = stateOf();
    if (now === last) return;
    last = now;
    act();
  };
}

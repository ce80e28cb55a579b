import type { Logger } from 'pino';
import type { LogPublisher, LogRecord } from '../../../packages/log/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createPeriodicYield } from '../../../packages/process/event-loop.ts';
import type { Check } from '../../../packages/process/http.ts';
import type { Metrics } from '../../../packages/process/metrics.ts';
import type { Sources } from '../../../packages/process/system-sources.ts';
import { act } from '../../../packages/records/act.ts';
import type { FailedMessage } from '../../../packages/records/dead-letters/dead-letters.ts';
import { decide, type Handled, type Handling } from '../../../packages/records/decide.ts';
import { readAlone } from '../../../packages/records/look-ahead.ts';
import { parseBelieved } from '../../../packages/records/parse/parse-believed.ts';
import { topicIdOf } from '../../../packages/records/parse/parse-record.ts';
import type { Publisher } from '../../../packages/records/publisher.ts';
import type { TrustChoice } from '../../../packages/records/trust/process-trust.ts';
import { RenewedKey } from '../../../packages/records/trust/renewed-key.ts';
import { signerOf, UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { TRUST_OFF, type Trust } from '../../../packages/records/trust/trust.ts';
import { type DecisionWriting, endChain } from '../../../packages/service/decision-writing.ts';
import { beliefOf } from '../../../packages/service/service-process.ts';
import type { DecisionFunction, SharedDeps } from './decision-function.ts';
import { type FunctionCounts, functionCounts } from './function-metrics.ts';
import { DocumentPolicies } from './policies/document-policies.ts';
import type { DocumentSource } from './policies/document-source.ts';
import { type FunctionPolicies, NO_POLICIES, noPolicies } from './policies/function-policies.ts';

/** A function that can be called. */
export interface OpenFunction {
  readonly decider: DecisionFunction;
  readonly engine: FunctionEngine;
  readonly policies: FunctionPolicies;
  readonly counts: FunctionCounts;
  /** What follows goes to the event log; else to the caller. */
  readonly publishes: boolean;
  /** In front of the names of topics on the brokers, by which callers know them; empty: none. */
  readonly kafkaPrefix: string;
  /** Writes what is no decision. */
  readonly others: Publisher;
  /** Says what it has written, where it says so at all; for a process that ends. */
  end(): Promise<void>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds of a clock that does not jump. */
  readonly monotonicNow: () => number;
}

/** Whom it believes, and what it signs with. */
interface OwnTrust extends Pick<SharedDeps, 'signer' | 'heads' | 'belief'> {
  readonly trust: Trust;
}

interface Surroundings {
  /** Where what follows goes; `null`: to the caller. */
  readonly log: LogPublisher | null;
  readonly kafkaPrefix: string;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly sources: Sources;
}

export function functionOn(
  decider: DecisionFunction,
  policies: FunctionPolicies,
  { log, kafkaPrefix, metrics, logger, sources, trust, ...signing }: Surroundings & OwnTrust,
): OpenFunction {
  const writing = decider.open(policies.current, {
    ...signing,
    log,
    logger,
    metrics,
    ids: sources.traceIds,
    now: sources.now,
  });
  const counts = functionCounts(metrics, decider.name);
  const engine = new FunctionEngine({ writing, trust, counts, monotonicNow: sources.monotonicNow });
  const { now, monotonicNow } = sources;
  return {
    decider,
    engine,
    policies,
    counts,
    publishes: log !== null,
    kafkaPrefix,
    others: writing.others,
    end: async () => {
      if (writing.chain !== null) await endChain(writing.chain);
    },
    now,
    monotonicNow,
  };
}

export interface WithoutTopics extends Surroundings {
  readonly decider: DecisionFunction;
  /** Where the document of policies comes from; `null`: there is none, and everything is kept. */
  readonly document: { readonly source: DocumentSource; readonly maxAgeMs: number } | null;
  readonly trust: TrustChoice;
}

export interface FunctionProcess extends AsyncDisposable {
  readonly open: OpenFunction;
  readonly checks: readonly Check[];
}

/** A function that follows no topic: what it knows of policies and keys stands in a document. Throws `CONFIG_INVALID`. */
export async function openWithoutTopics(
  settings: WithoutTopics,
  signal: AbortSignal,
): Promise<FunctionProcess> {
  const { decider, document, trust: choice, sources, ...around } = settings;
  const { logger, metrics } = around;
  await using opening = new AsyncDisposableStack();
  const documents =
    document &&
    new DocumentPolicies({
      ...document,
      choice,
      telling: {
        logger,
        metrics,
        sources: { now: sources.monotonicNow, random: sources.random, wait: sources.wait },
      },
      nowMs: sources.now,
    });
  if (documents === null) logger.warn(NO_POLICIES);
  await documents?.look(signal);
  const own = ownTrust(choice, documents, { logger, sources, opening });
  const policies = documents ?? noPolicies();
  const open = functionOn(decider, policies, { ...around, sources, ...own });
  const disposing = opening.move();
  return {
    open,
    checks: [{ name: 'policies', problem: () => policies.problem(), notice: () => policies.notice() }],
    [Symbol.asyncDispose]: () => disposing.disposeAsync(),
  };
}

interface Opening {
  readonly logger: Logger;
  readonly sources: Sources;
  readonly opening: AsyncDisposableStack;
}

function ownTrust(
  choice: TrustChoice,
  documents: DocumentPolicies | null,
  { logger, sources, opening }: Opening,
): OwnTrust {
  if (choice.kind === 'off') return { trust: TRUST_OFF, signer: UNSIGNED, heads: null };
  if (documents === null)
    throw new FleetGcError(
      'CONFIG_INVALID',
      `--trust ${choice.kind} needs --policy: which keys count stands in a document of policies, or on the topic`,
    );
  const { signing, roots } = choice;
  const keys = {
    ring: () => documents.ring(),
    problem: () => documents.problem(),
    onChange: (listener: () => void) => documents.onChange(listener),
  };
  const signingKey =
    signing && opening.use(new RenewedKey({ signing, keys, nowMs: sources.now, wait: sources.wait, logger }));
  const signer =
    signing === null || signingKey === null
      ? UNSIGNED
      : signerOf({ fleet: roots.fleet, role: signing.role, key: () => signingKey.key() });
  return { trust: documents.trust, signer, ...beliefOf({ keys, signer, signingKey }, choice, sources) };
}

interface EngineSettings {
  readonly writing: DecisionWriting;
  /** Whose messages count. */
  readonly trust: Trust;
  readonly counts: FunctionCounts;
  /** Milliseconds of a clock that does not jump. */
  readonly monotonicNow: () => number;
}

/**
 * Decides on events, each by itself: parsed, believed and decided on by the functions of the consumer of the event log, so that the same
 * bytes give the same bytes. Nothing is passed over for what is newer, since nobody knows here what else there is.
 */
class FunctionEngine {
  readonly #settings: EngineSettings;
  readonly #handling: Handling;
  readonly #read: ReturnType<typeof readAlone>;
  readonly #yieldToEventLoop: () => Promise<void>;

  constructor(settings: EngineSettings) {
    const { handlers, onOutputs, decisions } = settings.writing;
    this.#settings = settings;
    this.#handling = { handlers, onOutputs, publisher: decisions };
    this.#read = readAlone(parseBelieved(settings.trust));
    this.#yieldToEventLoop = createPeriodicYield(settings.monotonicNow);
  }

  /** Whether it can be believed by all that stands beside it. Throws as `decideOn`. */
  mayBeBelieved({ topic, headers }: LogRecord): boolean {
    return this.#settings.trust.objectionToHeaders(topicIdOf(topic), headers) === null;
  }

  /** Throws a `FleetGcError` with `retry` for what will pass, such as policies that cannot be read. */
  async decideOn(record: LogRecord): Promise<Handled> {
    this.#settings.writing.gate?.require();
    const handled = await decide(topicIdOf(record.topic), this.#read(record), this.#handling);
    this.#settings.counts.done(handled.failure?.cause ?? 'processed');
    await this.#yieldToEventLoop();
    return handled;
  }

  /** Brings what follows to the event log, record before command. Returns what the log can never take. Throws as `EventLog.publish`. */
  publish(handled: readonly Handled[]): Promise<readonly FailedMessage[]> {
    return act(handled, this.#settings.writing.decisions);
  }
}

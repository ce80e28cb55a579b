import type { Logger } from 'pino';
import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import type { Following } from '../../log/follow-topic.ts';
import type { EventLog, LogReader } from '../../log/port.ts';
import { toFleetGcError } from '../../process/errors.ts';
import type { Metrics } from '../../process/metrics.ts';
import { sparingly } from '../../process/sparingly.ts';
import { KeySource } from './key-source.ts';
import { RenewedKey, type Signing, watchRenewedKey } from './renewed-key.ts';
import { SeenGenerations } from './seen-generations.ts';
import { type Signer, signerOf, UNSIGNED } from './signer.ts';
import {
  type Authentication,
  DISTRUST_CAUSES,
  type Distrust,
  distrustOf,
  isFact,
  type Judged,
  NOBODY_PROVED,
  RequiredTrust,
  SIGNED_TOPICS,
  TRUST_OFF,
  type Trust,
} from './trust.ts';

/** Which facts of nodes count: those with the signature of a node's key, or all. `warn` tells of those that would not. */
export type FactsTrust = 'required' | 'warn' | 'off';

/** Whom a process believes, and what it signs with. */
export type TrustChoice =
  | { readonly kind: 'off' }
  | {
      readonly kind: 'required' | 'warn';
      readonly roots: TrustRoots;
      /** `null` for who signs nothing. */
      readonly signing: Signing | null;
      /** Which facts of nodes count here; `off` for who reads none. */
      readonly facts: FactsTrust;
      /** What was seen before this process began, where somebody keeps that. */
      readonly seen: SeenGenerations;
      /** Where the generations of policies are learnt that no file keeps; `null`: from what the process sees alone. */
      readonly learnsFrom: 'policy-versions' | null;
    };

export interface ProcessTrust extends AsyncDisposable {
  readonly trust: Trust;
  readonly signer: Signer;
  /** `null` where no keys count. */
  readonly keys: KeySource | null;
  /** `null` for who signs nothing. */
  readonly signingKey: RenewedKey | null;
  readonly seen: SeenGenerations;
  readonly learnsFrom: 'policy-versions' | null;
}

interface ProcessTrustSettings {
  readonly choice: TrustChoice;
  readonly log: LogReader & Pick<EventLog, 'health'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly sources: Following['sources'];
  /** Epoch milliseconds. */
  readonly nowMs: () => number;
}

/**
 * How often `gc.keys` is read from its start again, to see that nothing of it is gone.
 * @limit Period in which `gc.keys` is read from its start.
 */
const KEYS_RECHECK_MS = 300_000;

/** Follows the keys for as long as the process runs, where they count. */
export function startTrust(settings: ProcessTrustSettings): ProcessTrust {
  const { choice, log, logger, metrics, sources, nowMs } = settings;
  if (choice.kind === 'off')
    return {
      trust: TRUST_OFF,
      signer: UNSIGNED,
      keys: null,
      signingKey: null,
      seen: new SeenGenerations(),
      learnsFrom: null,
      [Symbol.asyncDispose]: async () => {},
    };
  const { roots, signing, seen, learnsFrom } = choice;
  const keys = new KeySource({ log, logger, roots, seen, recheckMs: KEYS_RECHECK_MS, sources });
  const provedMs = () => Math.max(nowMs(), seen.passedMs);
  const required = new RequiredTrust({
    ring: () => keys.ring(),
    problem: () => keys.problem(),
    nowMs: provedMs,
    onBelieved: ({ timestampMs }, generation) =>
      seen.passed(Math.min(timestampMs, Math.max(nowMs(), generation ?? 0))),
  });
  metrics.gauge('keys', 'Keys that roots vouch for.', [], () => [[{}, keys.ring().keys().length]]);
  metrics.gauge('keys_readable', 'Whether all keys are read.', [], () => [
    [{}, Number(keys.problem() === null)],
  ]);
  const signingKey =
    signing && new RenewedKey({ signing, keys, nowMs: provedMs, wait: sources.wait, logger });
  if (signingKey !== null) watchRenewedKey(metrics, signingKey, keys);
  return {
    trust: trustOf(choice, required, settings),
    signer:
      signing === null || signingKey === null
        ? UNSIGNED
        : signerOf({ fleet: roots.fleet, role: signing.role, key: () => signingKey.key() }),
    keys,
    signingKey,
    seen,
    learnsFrom,
    [Symbol.asyncDispose]: async () => {
      await signingKey?.[Symbol.asyncDispose]();
      await keys[Symbol.asyncDispose]();
    },
  };
}

export type Telling = Pick<ProcessTrustSettings, 'logger' | 'metrics' | 'sources'>;

/** What of it a process asks for; `required` is all of it. */
export function trustOf(
  { kind, facts }: Exclude<TrustChoice, { readonly kind: 'off' }>,
  required: RequiredTrust,
  telling: Telling,
): Trust {
  if (kind === 'required' && facts === 'required') return required;
  const warns = kind === 'warn' || facts === 'warn' ? warning(required, telling) : TRUST_OFF;
  return judgingApart(kind === 'required' ? required : warns, facts === 'off' ? TRUST_OFF : warns);
}

/**
 * Of each topic; where a whole fleet does not sign yet, the metric tells enough.
 * @limit Messages per topic and minute that `--trust warn` logs.
 */
const MOST_WARNINGS_PER_MINUTE = 20;

function warning(required: RequiredTrust, { logger, metrics, sources }: Telling): Trust {
  const mayTell = sparingly(MOST_WARNINGS_PER_MINUTE, sources.now);
  const counter = metrics.count(
    'distrusted_messages_total',
    'Messages that would not count if signatures were required.',
    { topic: SIGNED_TOPICS, cause: DISTRUST_CAUSES },
  );
  return new WarningTrust(required, (topic, { cause, message }, key) => {
    counter.add({ topic: TOPICS[topic].name, cause });
    if (!mayTell(topic)) return;
    logger.warn(
      { topic: TOPICS[topic].name, key, cause },
      `it would not count if signatures were required: ${message}`,
    );
  });
}

/** Facts of nodes are judged apart from what is ordered and set: they come from many more machines. */
export const judgingApart = (others: Trust, facts: Trust): Trust => ({
  authenticate: (topic, record) => (isFact(topic) ? facts : others).authenticate(topic, record),
  objectionToHeaders: (topic, headers) => (isFact(topic) ? facts : others).objectionToHeaders(topic, headers),
  objectionTo: (topic, ...about) => (isFact(topic) ? facts : others).objectionTo(topic, ...about),
});

type Tell = (topic: TopicId, distrust: Distrust, recordKey: string | null) => void;

/** Believes everybody as `TRUST_OFF` does, and tells of each message that would not count if signatures were required. */
export class WarningTrust implements Trust {
  readonly #required: RequiredTrust;
  readonly #tell: Tell;

  constructor(required: RequiredTrust, tell: Tell) {
    this.#required = required;
    this.#tell = tell;
  }

  authenticate(topic: TopicId, record: Judged): Authentication {
    const authentication = this.#attempt(topic, record);
    if (authentication.ok) return authentication;
    this.#tell(topic, authentication.distrust, record.key);
    return { ok: true, principal: NOBODY_PROVED };
  }

  objectionToHeaders(): null {
    return null;
  }

  objectionTo(): null {
    return null;
  }

  /** Nobody waits for keys where none are required. */
  #attempt(topic: TopicId, record: Judged): Authentication {
    try {
      return this.#required.authenticate(topic, record);
    } catch (error) {
      return { ok: false, distrust: distrustOf('keys-unreadable', toFleetGcError(error).message) };
    }
  }
}

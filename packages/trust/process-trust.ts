import type { Logger } from 'pino';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import type { Following } from '../event-log/follow-topic.ts';
import type { EventLog } from '../event-log/port.ts';
import type { Metrics } from '../process/metrics.ts';
import type { SigningKey } from './key-pair.ts';
import { KeySource } from './key-source.ts';
import { SeenGenerations } from './seen-generations.ts';
import { type Signer, signerOf, UNSIGNED } from './signer.ts';
import {
  DISTRUST_CAUSES,
  RequiredTrust,
  SIGNED_TOPICS,
  TRUST_OFF,
  type Trust,
  WarningTrust,
} from './trust.ts';

/** Whom a process believes, and what it signs with. */
export type TrustChoice =
  | { readonly kind: 'off' }
  | {
      readonly kind: 'required' | 'warn';
      readonly roots: TrustRoots;
      /** `null` for who signs nothing. */
      readonly signingKey: SigningKey | null;
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
  readonly seen: SeenGenerations;
  readonly learnsFrom: 'policy-versions' | null;
}

export interface ProcessTrustSettings {
  readonly choice: TrustChoice;
  readonly log: Pick<EventLog, 'read' | 'health'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly sources: Following['sources'];
  /** Epoch milliseconds. */
  readonly nowMs: () => number;
}

/** How often `gc.keys` is read from its start again, to see that nothing of it is gone. */
const KEYS_RECHECK_MS = 300_000;

/** Follows the keys for as long as the process runs, where they count. */
export function startTrust(settings: ProcessTrustSettings): ProcessTrust {
  const { choice, log, logger, metrics, sources, nowMs } = settings;
  if (choice.kind === 'off')
    return {
      trust: TRUST_OFF,
      signer: UNSIGNED,
      keys: null,
      seen: new SeenGenerations(),
      learnsFrom: null,
      [Symbol.asyncDispose]: async () => {},
    };
  const { roots, signingKey, seen, learnsFrom } = choice;
  const keys = new KeySource({ log, logger, roots, seen, recheckMs: KEYS_RECHECK_MS, sources });
  const required = new RequiredTrust({
    ring: () => keys.ring(),
    problem: () => keys.problem(),
    nowMs: () => Math.max(nowMs(), seen.passedMs),
    onBelieved: ({ timestampMs }, generation) =>
      seen.passed(Math.min(timestampMs, Math.max(nowMs(), generation ?? 0))),
  });
  metrics.gauge('keys', 'Keys that roots vouch for.', [], () => [[{}, keys.ring().keys().length]]);
  metrics.gauge('keys_readable', 'Whether all keys are read.', [], () => [
    [{}, Number(keys.problem() === null)],
  ]);
  return {
    trust: choice.kind === 'required' ? required : warning(required, { logger, metrics }),
    signer: signingKey === null ? UNSIGNED : signerOf(roots.fleet, signingKey),
    keys,
    seen,
    learnsFrom,
    [Symbol.asyncDispose]: () => keys[Symbol.asyncDispose](),
  };
}

function warning(
  required: RequiredTrust,
  { logger, metrics }: Pick<ProcessTrustSettings, 'logger' | 'metrics'>,
): Trust {
  const counter = metrics.count(
    'distrusted_messages_total',
    'Messages that would not count if signatures were required.',
    { topic: SIGNED_TOPICS, cause: DISTRUST_CAUSES },
  );
  return new WarningTrust(required, (topic, { cause, message }, key) => {
    counter.add({ topic: TOPICS[topic].name, cause });
    logger.warn(
      { topic: TOPICS[topic].name, key, cause },
      `it would not count if signatures were required: ${message}`,
    );
  });
}

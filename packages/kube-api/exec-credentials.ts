import { FleetGcError, toFleetGcError } from '../process/errors.ts';
import type { Sources } from '../process/system-sources.ts';
import { areSame, type CredentialSource, type Credentials, type Rejection } from './credentials.ts';
import { type IssuedCredentials, type PluginRun, runPlugin } from './exec-plugin.ts';

export interface ExecSettings {
  readonly run: PluginRun;
  /** What says who the API server has to be. */
  readonly files: CredentialSource;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow'>;
}

/** However often it fails, and however many requests are refused, a plugin is not run sooner again. */
const LEAST_BETWEEN_RUNS_MS = 10_000;
/** What ends is renewed before, when a fifth of its life is left, or so much. */
const MOST_LEFT_MS = 60_000;
const usableMs = (lifeMs: number): number => lifeMs - Math.min(MOST_LEFT_MS, lifeMs / 5);

interface Held {
  readonly issued: IssuedCredentials;
  readonly usableUntilMs: number;
  readonly endsAtMs: number;
}

/** Those that a program tells. It is run when the first ones are needed, before they end, and when the API server does not take them. */
export class ExecCredentials implements CredentialSource {
  readonly #settings: ExecSettings;
  readonly #disposed = new AbortController();
  #held: Held | null = null;
  #failure: FleetGcError | null = null;
  #running: Promise<void> | null = null;
  #ranAtMs = Number.NEGATIVE_INFINITY;

  constructor(settings: ExecSettings) {
    this.#settings = settings;
  }

  async current(): Promise<Credentials> {
    const { files, sources } = this.#settings;
    const nowMs = sources.monotonicNow();
    if (this.#held === null || nowMs >= this.#held.usableUntilMs) await this.#renew();
    return this.#with(await files.current());
  }

  async insteadOf(rejected: Credentials, because: Rejection): Promise<Credentials> {
    const { files } = this.#settings;
    if (because === 'server-is-unknown') return this.#with(await files.insteadOf(rejected, because));
    const present = this.#with(await files.current());
    // Who asked with the same has renewed them meanwhile.
    if (!areSame(present, rejected)) return present;
    await this.#renew();
    if (this.#failure !== null) throw this.#failure;
    return this.#with(await files.current());
  }

  [Symbol.dispose](): void {
    this.#disposed.abort();
    this.#settings.files[Symbol.dispose]();
  }

  /** Throws where there are none. */
  #with({ authority }: Credentials): Credentials {
    if (this.#held === null)
      throw this.#failure ?? new FleetGcError('INTERNAL', 'no credentials were asked for');
    const { token, clientCertificate } = this.#held.issued;
    return { authority, token, clientCertificate };
  }

  /** All that wait share one run. Those that are held outlast a run that fails, up to their end. */
  async #renew(): Promise<void> {
    const nowMs = this.#settings.sources.monotonicNow();
    if (this.#running === null && nowMs - this.#ranAtMs < LEAST_BETWEEN_RUNS_MS) return;
    this.#running ??= this.#runOnce().finally(() => {
      this.#running = null;
    });
    await this.#running;
  }

  async #runOnce(): Promise<void> {
    const { run, sources } = this.#settings;
    try {
      const issued = await runPlugin(run, this.#disposed.signal);
      const atMs = sources.monotonicNow();
      const lifeMs = issued.endsAtMs === null ? Number.POSITIVE_INFINITY : issued.endsAtMs - sources.now();
      this.#held = { issued, usableUntilMs: atMs + usableMs(lifeMs), endsAtMs: atMs + lifeMs };
      this.#failure = null;
    } catch (error) {
      this.#failure = toFleetGcError(error);
      if (this.#held !== null && sources.monotonicNow() >= this.#held.endsAtMs) this.#held = null;
    } finally {
      this.#ranAtMs = sources.monotonicNow();
    }
  }
}

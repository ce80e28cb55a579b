import { dirname, resolve, sep } from 'node:path';
import { z } from 'zod';
import { type CommandFailure, commandOutput } from '../process/command-output.ts';
import { FleetGcError, toFleetGcError } from '../process/errors.ts';
import type { Sources } from '../process/system-sources.ts';
import {
  areSame,
  type ClientCertificate,
  type CredentialSource,
  type Credentials,
  type Rejection,
  usable,
} from './access.ts';
import type { Environment } from './proxy.ts';
import { jsonOf } from './status.ts';

/** A program that a kubeconfig names to tell who we are, as the clouds have it. */
export const ExecPlugin = z.object({
  apiVersion: z.enum(['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'], {
    error: 'must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1',
  }),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string().min(1), value: z.string() })).nullish(),
  installHint: z.string().nullish(),
  provideClusterInfo: z.boolean().nullish(),
  /** Version v1 wants it said. */
  interactiveMode: z.enum(['Never', 'IfAvailable', 'Always']).nullish(),
});
export type ExecPlugin = z.infer<typeof ExecPlugin>;

/** What a plugin is told of the cluster, where it asks for that. */
export interface PluginCluster {
  readonly server: string;
  readonly 'tls-server-name'?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'proxy-url'?: string;
  /** What the kubeconfig holds of the cluster for such plugins alone. */
  readonly config?: unknown;
}

/** How a plugin is run. */
interface PluginRun {
  readonly plugin: ExecPlugin;
  /** The kubeconfig that names it. */
  readonly file: string;
  /** Of now, since its authority may be replaced; `null` where the plugin does not ask for it. */
  readonly cluster: () => PluginCluster | null;
  readonly environment: Environment;
}

/** Who we are, as a plugin says. */
interface IssuedCredentials {
  readonly token: string | null;
  readonly clientCertificate: ClientCertificate | null;
  /** Epoch milliseconds; `null` for those of which nobody says when they end. */
  readonly endsAtMs: number | null;
}

/**
 * One may have to ask a service elsewhere.
 * @limit Timeout of an exec plugin of a kubeconfig.
 */
const TIMEOUT_MS = 30_000;
/** A chain of certificates has some kilobytes, and a token may be as large as a header. */
const MAX_OUTPUT_BYTES = 256 * 1024;

const Text = z.string().nullish();
const ExecCredential = z.object({
  kind: z.literal('ExecCredential'),
  apiVersion: z.string(),
  status: z.object({
    token: Text,
    clientCertificateData: Text,
    clientKeyData: Text,
    expirationTimestamp: z.iso.datetime({ offset: true }).nullish(),
  }),
});

/** Rejects with `API_NO_CREDENTIALS`, which says nothing of a token or a key. */
async function runPlugin(run: PluginRun, signal: AbortSignal): Promise<IssuedCredentials> {
  const { plugin, environment } = run;
  const output = await commandOutput([programOf(run), ...(plugin.args ?? [])], {
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_OUTPUT_BYTES,
    signal,
    environment: { ...environment, ...ownEnvironment(plugin), KUBERNETES_EXEC_INFO: execInfo(run) },
  });
  if (!output.ok) throw failure(run, `${output.why}${adviceFor(plugin, output)}`);
  return issued(run, output.stdout);
}

/** A name alone is looked for on the path; what has a folder in it counts from that of the kubeconfig. */
const programOf = ({ plugin: { command }, file }: PluginRun): string =>
  command.includes(sep) ? resolve(dirname(file), command) : command;

const ownEnvironment = ({ env }: ExecPlugin): Environment =>
  Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));

function execInfo({ plugin: { apiVersion }, cluster }: PluginRun): string {
  const told = cluster();
  const spec = { ...(told !== null && { cluster: told }), interactive: false };
  return JSON.stringify({ kind: 'ExecCredential', apiVersion, spec });
}

function adviceFor(plugin: ExecPlugin, output: CommandFailure): string {
  if (output.isStarted) return saidOnStderr(plugin, output);
  const hint = saidBy(plugin.installHint ?? '');
  return hint === '' ? '. Install it where FleetGC runs' : `. The kubeconfig says how to install it: ${hint}`;
}

const MAX_HINT_LENGTH = 1_000;
const saidBy = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_HINT_LENGTH)
    .toWellFormed();

function issued(run: PluginRun, stdout: string): IssuedCredentials {
  const written = jsonOf(stdout);
  if (written === undefined) throw failure(run, 'what it wrote to stdout is no JSON');
  const parsed = ExecCredential.safeParse(written);
  if (!parsed.success) {
    const where = parsed.error.issues.map(({ path }) => path.join('.') || 'all of it');
    throw failure(run, `what it wrote to stdout is no ExecCredential: look at ${where.join(', ')}`);
  }
  const { apiVersion, status } = parsed.data;
  if (apiVersion !== run.plugin.apiVersion)
    throw failure(
      run,
      `it answered in another version than ${run.plugin.apiVersion}, which the kubeconfig names`,
    );
  const token = status.token || null;
  const clientCertificate = certificateOf(run, status);
  usable({ authority: null, token, clientCertificate }, (why) => failure(run, why));
  if (token === null && clientCertificate === null)
    throw failure(run, 'it gave no status.token, and no status.clientCertificateData with its key');
  const { expirationTimestamp: ends = null } = status;
  return { token, clientCertificate, endsAtMs: ends === null ? null : Date.parse(ends) };
}

function certificateOf(
  run: PluginRun,
  { clientCertificateData, clientKeyData }: z.infer<typeof ExecCredential>['status'],
): ClientCertificate | null {
  if (!clientCertificateData && !clientKeyData) return null;
  if (!clientCertificateData || !clientKeyData)
    throw failure(run, 'it gave only one of status.clientCertificateData and status.clientKeyData');
  return { certificate: Buffer.from(clientCertificateData), key: Buffer.from(clientKeyData) };
}

const failure = ({ plugin: { command }, file }: PluginRun, why: string): FleetGcError =>
  new FleetGcError(
    'API_NO_CREDENTIALS',
    `the command ${saidBy(command)}, which ${file} names to log in, gives no credentials: ${why}`,
  );

/** What a plugin is told. */
interface Told {
  readonly args?: readonly string[] | null | undefined;
  readonly env?: readonly { readonly value: string }[] | null | undefined;
}

const MOST_SAID = 500;
/** What is shorter guards nothing. */
const LEAST_SECRET_LENGTH = 4;
const HIDDEN = '…';

/**
 * What a plugin says on stderr is for people. Without what it was told and what it wrote to stdout: a password may be among the one,
 * and a token in the other.
 */
function saidOnStderr(plugin: Told, output: CommandFailure): string {
  const { stdout, stderr } = output;
  if (stderr.includes('PRIVATE KEY'))
    return '. What it wrote to stderr may hold a key, and is not shown: run it yourself';
  const secrets = [...toldTo(plugin), ...piecesOf(stdout)]
    .filter((text) => text.length >= LEAST_SECRET_LENGTH)
    .toSorted((one, other) => other.length - one.length);
  const shown = secrets
    .reduce((text, secret) => text.replaceAll(secret, HIDDEN), stderr)
    .replaceAll(TOKEN_LIKE, HIDDEN)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
  return shown === '' ? '' : `. It wrote to stderr: ${shown.slice(0, MOST_SAID).toWellFormed()}`;
}

/** So long a run of such signs is no word. */
const TOKEN_LIKE = /[\w.~+/=%-]{64,}/g;

/** Options are said to everybody; what they are set to is not. */
const toldTo = ({ args, env }: Told): readonly string[] => [
  ...(args ?? []).flatMap((arg) => (arg.startsWith('-') ? arg.split('=').slice(1) : [arg])),
  ...(env ?? []).map(({ value }) => value),
];

const piecesOf = (stdout: string): readonly string[] => [
  ...stdout.split(/["\s]+/),
  ...textsIn(jsonOf(stdout)),
];

/** An ExecCredential has its texts three levels deep; `piecesOf` has found what stands deeper as it was written. */
const MAX_DEPTH = 10;

const textsIn = (value: unknown, depth = 0): readonly string[] => {
  if (typeof value === 'string') return value.split('\n');
  if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) return [];
  return Object.values(value).flatMap((part) => textsIn(part, depth + 1));
};

interface ExecSettings {
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

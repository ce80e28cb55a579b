import { dirname, resolve, sep } from 'node:path';
import { z } from 'zod';
import { type CommandFailure, commandOutput } from '../process/command-output.ts';
import { FleetGcError } from '../process/errors.ts';
import { type ClientCertificate, usable } from './credentials.ts';
import { saidOnStderr } from './exec-plugin-words.ts';
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
export interface PluginRun {
  readonly plugin: ExecPlugin;
  /** The kubeconfig that names it. */
  readonly file: string;
  /** Of now, since its authority may be replaced; `null` where the plugin does not ask for it. */
  readonly cluster: () => PluginCluster | null;
  readonly environment: Environment;
}

/** Who we are, as a plugin says. */
export interface IssuedCredentials {
  readonly token: string | null;
  readonly clientCertificate: ClientCertificate | null;
  /** Epoch milliseconds; `null` for those of which nobody says when they end. */
  readonly endsAtMs: number | null;
}

/** One may have to ask a service elsewhere. */
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
export async function runPlugin(run: PluginRun, signal: AbortSignal): Promise<IssuedCredentials> {
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

import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { FleetGcError } from '../process/errors.ts';
import { readTextFile, unreadableReason } from '../process/options/named-file.ts';
import { exceededYamlBound } from '../process/options/yaml.ts';
import {
  type ApiAccess,
  type ClientCertificate,
  type CredentialSource,
  type Credentials,
  FileCredentials,
  type Surrounding,
  usable,
} from './access.ts';
import { ExecCredentials, ExecPlugin, type PluginCluster } from './exec-plugin.ts';
import { proxyOfEnvironment, requireProxy } from './proxy.ts';

/*
 * Our own, and not the KubeConfig of @kubernetes/client-node: that one loads 90 MB of code into a process whose whole graph of
 * 100,000 objects takes 40.
 */

const Text = z.string().min(1);
const Cluster = z.object({
  server: z.url({ protocol: /^https?$/ }),
  'certificate-authority': Text.optional(),
  'certificate-authority-data': Text.optional(),
  'tls-server-name': Text.optional(),
  'insecure-skip-tls-verify': z.boolean().optional(),
  'proxy-url': Text.optional(),
  extensions: z.array(z.object({ name: z.string(), extension: z.unknown() })).nullish(),
});
type ClusterEntry = z.infer<typeof Cluster>;
const User = z.object({
  token: Text.optional(),
  tokenFile: Text.optional(),
  'client-certificate': Text.optional(),
  'client-certificate-data': Text.optional(),
  'client-key': Text.optional(),
  'client-key-data': Text.optional(),
  exec: ExecPlugin.nullish(),
  'auth-provider': z.unknown().optional(),
  username: z.unknown().optional(),
  as: z.unknown().optional(),
});
/** `kubectl` writes `null` for a list without entries. */
const Kubeconfig = z.object({
  clusters: z.array(z.object({ name: z.string(), cluster: Cluster })).nullish(),
  users: z.array(z.object({ name: z.string(), user: User.nullish() })).nullish(),
  contexts: z
    .array(
      z.object({
        name: z.string(),
        context: z.object({ cluster: z.string(), user: z.string().default('') }),
      }),
    )
    .nullish(),
  'current-context': z.string().optional(),
});
type UserEntry = z.infer<typeof User>;

/** `context`: `null` for the current one. Throws `CONFIG_INVALID`, which says what the file lacks. */
export function kubeconfigAccess(file: string, context: string | null, surrounding: Surrounding): ApiAccess {
  const config = readKubeconfig(file);
  const chosen = chosenContext(config, file, context);
  const cluster = config.clusters?.find((each) => each.name === chosen.cluster)?.cluster;
  if (cluster === undefined)
    throw invalid(file, `it has no cluster "${chosen.cluster}", which its context names`);
  const user = config.users?.find((each) => each.name === chosen.user)?.user ?? {};
  if (cluster['insecure-skip-tls-verify'] === true)
    throw invalid(file, 'it says not to verify who the server is, which FleetGC always does');
  requireUsable(user, file);
  const { server, 'proxy-url': proxy } = cluster;
  return {
    server,
    serverName: cluster['tls-server-name'] ?? null,
    proxy:
      proxy === undefined
        ? proxyOfEnvironment(new URL(server), surrounding.environment)
        : requireProxy(proxy, `the kubeconfig ${file}`),
    credentials: credentialsOf({ file, cluster, user }, surrounding),
  };
}

function chosenContext(config: z.infer<typeof Kubeconfig>, file: string, context: string | null) {
  const name = context ?? config['current-context'] ?? '';
  const chosen = config.contexts?.find((each) => each.name === name)?.context;
  if (chosen !== undefined) return chosen;
  const names = (config.contexts ?? []).map((each) => each.name).join(', ');
  const has = names === '' ? 'it has no contexts at all' : `those it has: ${names.slice(0, 300)}`;
  throw invalid(
    file,
    name === '' ? `it has no current context; ${has}` : `it has no context "${name}"; ${has}`,
  );
}

function readKubeconfig(file: string): z.infer<typeof Kubeconfig> {
  const read = readTextFile(file);
  if (!read.ok) throw invalid(file, read.reason);
  const written = yamlIn(file, read.text);
  if (written === null) throw invalid(file, 'there is nothing in it');
  const parsed = Kubeconfig.safeParse(written);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    ({ path, message }) => `${path.join('.') || 'all of it'}: ${message}`,
  );
  throw invalid(file, problems.join('; '));
}

function yamlIn(file: string, text: string): unknown {
  const exceeded = exceededYamlBound(text);
  if (exceeded !== null) throw invalid(file, exceeded);
  try {
    return parse(text, { maxAliasCount: 0, stringKeys: true, prettyErrors: false, logLevel: 'error' });
  } catch {
    // The parser's own message quotes what it read, which may be a token or a key.
    throw invalid(file, 'it is no valid YAML');
  }
}

const invalid = (file: string, what: string): FleetGcError =>
  new FleetGcError('CONFIG_INVALID', `the kubeconfig ${file} cannot be used: ${what}`);

type ReadInFile = (setting: string, path: string) => Buffer;

/** Paths count from the folder of the file. Errors name the setting alone: in place of a path there may be a token or a key. */
const fileReader =
  (file: string): ReadInFile =>
  (setting, path) => {
    try {
      return readFileSync(resolve(dirname(file), path));
    } catch (cause) {
      throw invalid(file, `the file that its ${setting} names cannot be read: ${unreadableReason(cause)}`);
    }
  };

/** Of a setting that stands in the file, or in another one that it names. */
function contentOf<Key extends string>(
  entry: Readonly<Partial<Record<Key | `${Key}-data`, string | undefined>>>,
  key: Key,
  inFile: ReadInFile,
): Buffer | null {
  const data: string | undefined = entry[`${key}-data`];
  if (data !== undefined) return Buffer.from(data, 'base64');
  const path: string | undefined = entry[key];
  return path === undefined ? null : inFile(key, path);
}

interface Entries {
  readonly file: string;
  readonly cluster: ClusterEntry;
  readonly user: UserEntry;
}

function credentialsOf(
  { file, cluster, user }: Entries,
  { environment, sources }: Surrounding,
): CredentialSource {
  const inFile = fileReader(file);
  const authority = (): Buffer | null => contentOf(cluster, 'certificate-authority', inFile);
  const read = (): Credentials =>
    usable(
      {
        authority: authority(),
        clientCertificate: clientCertificate(user, file, inFile),
        token: tokenOf(user, inFile),
      },
      (why) => invalid(file, why),
    );
  const files = new FileCredentials(read, sources.monotonicNow);
  const plugin = user.exec ?? null;
  if (plugin === null) return files;
  const told = () => (plugin.provideClusterInfo === true ? toldToPlugin(cluster, authority()) : null);
  return new ExecCredentials({ run: { plugin, file, cluster: told, environment }, files, sources });
}

/** The name under which a cluster's entry holds what is meant for plugins alone. */
const FOR_PLUGINS = 'client.authentication.k8s.io/exec';

function toldToPlugin(cluster: ClusterEntry, authority: Buffer | null): PluginCluster {
  const { server, 'tls-server-name': serverName, 'proxy-url': proxy, extensions } = cluster;
  const config = extensions?.find(({ name }) => name === FOR_PLUGINS)?.extension;
  return {
    server,
    ...(serverName !== undefined && { 'tls-server-name': serverName }),
    ...(authority !== null && { 'certificate-authority-data': authority.toString('base64') }),
    ...(proxy !== undefined && { 'proxy-url': proxy }),
    ...(config !== undefined && { config }),
  };
}

function clientCertificate(user: UserEntry, file: string, inFile: ReadInFile): ClientCertificate | null {
  const certificate = contentOf(user, 'client-certificate', inFile);
  const key = contentOf(user, 'client-key', inFile);
  if (certificate === null && key === null) return null;
  if (certificate === null || key === null)
    throw invalid(file, 'its user has only one of client-certificate and client-key: give both');
  return { certificate, key };
}

function tokenOf({ token, tokenFile }: UserEntry, inFile: ReadInFile): string | null {
  if (tokenFile === undefined) return token ?? null;
  return inFile('tokenFile', tokenFile).toString('utf8').trim();
}

/** Refuses users of whom we cannot be one. */
function requireUsable(user: UserEntry, file: string): void {
  if (user['auth-provider'] !== undefined || user.username !== undefined)
    throw invalid(
      file,
      'its user has an auth provider or a password: give a token, a token file, a client certificate or an exec plugin',
    );
  // Whoever wrote it wants fewer rights than the token has.
  if (user.as !== undefined)
    throw invalid(file, 'its user acts as another one (as): make a kubeconfig with an account of that one');
  if (user.exec != null) requirePlugin(user, user.exec, file);
}

const OTHER_WAYS = [
  'token',
  'tokenFile',
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
] as const;

function requirePlugin(user: UserEntry, { apiVersion, interactiveMode }: ExecPlugin, file: string): void {
  const other = OTHER_WAYS.find((way) => user[way] !== undefined);
  if (other !== undefined)
    throw invalid(file, `its user has an exec plugin and ${other} beside it: keep one of the two`);
  if (interactiveMode === 'Always')
    throw invalid(
      file,
      'its exec plugin has to talk to a person (interactiveMode: Always), and FleetGC runs without one: make an account of its own, and give its token',
    );
  if (interactiveMode == null && apiVersion.endsWith('/v1'))
    throw invalid(
      file,
      `its exec plugin says no interactiveMode, which ${apiVersion} wants: IfAvailable or Never`,
    );
}

import type { Mechanism, SASLOptions } from 'kafkajs';
import { z } from 'zod';
import { bearerLogin } from './bearer-login.ts';
import { passwordIn, readSecret, whileRunning } from './secrets.ts';
import { BearerToken, requireTokenFiles, tokenProvider } from './tokens.ts';

const Address = z.string().regex(/^(\[[0-9A-Fa-f:]+\]|[^\s:/]+):\d{1,5}$/, { error: 'must be host:port' });
const Path = z.string().min(1);

/** TLS is on when `ssl` is given. All secrets are in files, which are read anew for each connection: they are replaced while we run. */
const Ssl = z.strictObject({
  /** Who signed the brokers' certificates, when not one the system trusts. PEM. */
  caFile: Path.optional(),
  /** This client's certificate and key, when the brokers ask for one. PEM. */
  certFile: Path.optional(),
  keyFile: Path.optional(),
});

const Password = z.strictObject({
  mechanism: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']),
  username: z.string().min(1),
  /** The password is what the file holds, without the line break at its end. */
  passwordFile: Path,
});

const Sasl = z.discriminatedUnion('mechanism', [
  Password,
  z.strictObject({ mechanism: z.literal('oauthbearer'), token: BearerToken }),
]);

export const KafkaOptions = z.strictObject({
  kind: z.literal('kafka'),
  brokers: z.array(Address).min(1),
  clientId: z.string().min(1),
  ssl: Ssl.optional(),
  sasl: Sasl.optional(),
  /** Of topics that are created here. */
  replicationFactor: z.int().min(1).default(3),
  /** Copies that must have a record before it is acknowledged; one less than there are, when not given. */
  minInsyncReplicas: z.int().min(1).optional(),
  /** `gzip` for readers outside our control that know no zstd. */
  compression: z.enum(['zstd', 'gzip']).default('zstd'),
  /** `short` where somebody waits for the answer, `long` for what runs on and outlasts outages. */
  waits: z.enum(['short', 'long']).default('long'),
});
export type KafkaOptions = z.infer<typeof KafkaOptions>;

/** TLS settings of kafkajs. Throws `CONFIG_INVALID` for a file that cannot be read. */
export function tlsOf({ ssl }: Pick<KafkaOptions, 'ssl'>) {
  if (ssl === undefined) return null;
  const { caFile, certFile, keyFile } = ssl;
  return {
    ...(caFile !== undefined && { ca: readSecret(caFile, 'CA certificate') }),
    ...(certFile !== undefined && { cert: readSecret(certFile, 'client certificate') }),
    ...(keyFile !== undefined && { key: readSecret(keyFile, 'client key') }),
  };
}

/** SASL settings of kafkajs; the password or token is read whenever it is asked for. */
export function saslOf({ sasl }: Pick<KafkaOptions, 'sasl'>): SASLOptions | Mechanism | null {
  if (sasl === undefined) return null;
  if (sasl.mechanism === 'oauthbearer') return bearerLogin(tokenProvider(sasl.token));
  return passwordLogin(sasl);
}

const passwordLogin = ({ mechanism, username, passwordFile }: z.infer<typeof Password>): SASLOptions => ({
  mechanism,
  username,
  get password() {
    return whileRunning(() => passwordIn(passwordFile));
  },
});

/**
 * What all files with secrets hold now, as one text: connections are made anew when it changes. Tokens do not count, since each
 * connection logs in with another one by itself before they end. Throws `CONFIG_INVALID` for a file that cannot be read.
 */
export const secretsOf = (options: Pick<KafkaOptions, 'ssl' | 'sasl'>): string =>
  JSON.stringify([tlsOf(options), options.sasl === undefined ? null : lastingSecretOf(options.sasl)]);

function lastingSecretOf(sasl: z.infer<typeof Sasl>): string | null {
  if (sasl.mechanism !== 'oauthbearer') return passwordIn(sasl.passwordFile);
  requireTokenFiles(sasl.token);
  return null;
}

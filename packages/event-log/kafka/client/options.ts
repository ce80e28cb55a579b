import { readFileSync } from 'node:fs';
import type { SASLOptions } from 'kafkajs';
import { z } from 'zod';
import { FleetGcError, toFleetGcError } from '../../../process/errors.ts';

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

const Sasl = z.strictObject({
  mechanism: z.enum(['plain', 'scram-sha-512']),
  username: z.string().min(1),
  /** The password is what the file holds, without the line break at its end. */
  passwordFile: Path,
});

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

function readSecret(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new FleetGcError(
      'CONFIG_INVALID',
      `The ${what} for Kafka cannot be read: ${toFleetGcError(error).message}. Check the path and the rights of the file.`,
      { cause: error },
    );
  }
}

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

const passwordIn = ({ passwordFile }: { readonly passwordFile: string }): string =>
  readSecret(passwordFile, 'password file').replace(/\r?\n$/, '');

/** SASL settings of kafkajs; the password is read whenever it is asked for. */
export function saslOf({ sasl }: Pick<KafkaOptions, 'sasl'>): SASLOptions | null {
  if (sasl === undefined) return null;
  return {
    mechanism: sasl.mechanism,
    username: sasl.username,
    get password() {
      return whileRunning(() => passwordIn(sasl));
    },
  };
}

/** What all files with secrets hold now, as one text. Throws `CONFIG_INVALID` for one that cannot be read. */
export function secretsOf(options: Pick<KafkaOptions, 'ssl' | 'sasl'>): string {
  const { sasl } = options;
  return JSON.stringify([tlsOf(options), sasl === undefined ? null : passwordIn(sasl)]);
}

/** A file that is being replaced may be away or half written: what fails then is tried again, unlike a wrong path at the start. */
export function whileRunning<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new FleetGcError('LOG_UNREACHABLE', toFleetGcError(error).message, { cause: error });
  }
}

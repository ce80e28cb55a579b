import type { Mechanism, SASLOptions } from 'kafkajs';
import { z } from 'zod';
import type { TopicName } from '../../../../schemas/events/topics.ts';
import { TOPIC_NAMES, topicSpec } from '../../partition.ts';
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

/** What a broker's policy may ask to be otherwise. Retention decides what is kept, and the checks of retention still tell it. */
const CHANGEABLE = [
  'segment.ms',
  'max.compaction.lag.ms',
  'delete.retention.ms',
  'retention.ms',
  'retention.bytes',
  'max.message.bytes',
  'min.insync.replicas',
] as const;
const LEFT_OUT_ONLY = ['cleanup.policy', 'message.timestamp.type', 'compression.type'] as const;

/** By these a broker deletes; of what is kept for ever it may not. */
const KEEPING: ReadonlySet<string> = new Set(['cleanup.policy', 'retention.ms', 'retention.bytes']);
/** Whether this setting of a topic that is kept for ever says how long the broker keeps its records. */
export const decidesKeeping = (topic: TopicName, setting: string): boolean =>
  topicSpec(topic).retentionMs === 'forever' && KEEPING.has(setting);

/** `[TOPIC:]NAME=VALUE` */
export const TopicSetting = z
  .strictObject({
    /** `null`: every topic that has this setting. */
    topic: z.enum(TOPIC_NAMES).nullable(),
    name: z.enum([...CHANGEABLE, ...LEFT_OUT_ONLY]),
    /** Empty: left to the broker. */
    value: z
      .string()
      .regex(/^(-?[0-9]{1,19})?$/, { error: 'must be a whole number, or empty to leave it to the broker' }),
  })
  .refine(({ name, value }) => value === '' || CHANGEABLE.some((one) => one === name), {
    error:
      'FleetGC needs its own value of this setting: you can leave it out when you create topics, but not change it',
  })
  .refine(({ topic, name, value }) => value === '' || topic === null || !decidesKeeping(topic, name), {
    error: 'This topic is kept for ever: no value of this setting may make the broker delete from it',
  });
export type TopicSetting = z.infer<typeof TopicSetting>;

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
  /** Settings of topics in place of FleetGC's; an empty value leaves a setting to the broker. */
  topicConfig: z.array(TopicSetting).optional(),
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

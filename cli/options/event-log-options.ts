import { isIPv6 } from 'node:net';
import { z } from 'zod';
import { KafkaPrefix, TopicSetting } from '../../packages/log/kafka/client/options.ts';
import { EventLogOptions } from '../../packages/log/open.ts';
import type { TextFile } from '../../packages/process/options/named-file.ts';
import {
  FilePath,
  flagOf,
  Switch,
  Text,
  TextList,
  WholeNumber,
  withMeta,
} from '../../packages/process/options/options.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import { Bytes } from '../../schemas/policy/quantity.ts';

export const LogSize = Bytes.refine((bytes) => bytes >= 16n * 1024n ** 2n, {
  error: 'must be at least 16Mi',
});
const OneOrMore = WholeNumber.refine((number) => number >= 1, { error: 'must be at least 1' });

/** `[TOPIC:]NAME=VALUE`, repeated or separated by commas. */
const TopicSettings = withMeta(
  TextList.pipe(
    z.array(z.string().regex(/^([^:=]+:)?[^:=]+=[^=]*$/, { error: 'must be [TOPIC:]NAME=VALUE' })),
  ).transform((texts, { addIssue }) => texts.flatMap((text) => topicSettingIn(text, addIssue))),
  { kind: 'list', placeholder: '[TOPIC:]NAME=VALUE,…' },
);

function topicSettingIn(text: string, addIssue: (message: string) => void): readonly TopicSetting[] {
  const [, topic = null, name, value] = /^(?:([^:=]+):)?([^:=]+)=([^=]*)$/.exec(text) ?? [];
  const { data, error } = TopicSetting.safeParse({ topic, name, value });
  if (data !== undefined) return [data];
  addIssue(`${text}: ${error.issues[0]?.message ?? 'is no setting of a topic'}`);
  return [];
}

/** Which event log to use, and how to reach it. `readEventLogSettings` makes settings of them. */
export const eventLogOptions = (kind: 'kafka' | 'embedded') => ({
  log: withMeta(z.enum(['kafka', 'embedded']).prefault(kind), {
    description: 'kafka for a fleet, embedded for one machine.',
  }),
  logPath: withMeta(FilePath.prefault('/var/lib/fleetgc/event-log.db'), {
    description: 'File of the embedded log.',
  }),
  logMaxSize: withMeta(LogSize.prefault('1Gi'), {
    placeholder: 'QUANTITY',
    description: 'Size the embedded log may reach; the oldest messages go first.',
  }),
  kafkaBrokers: withMeta(TextList.optional(), {
    placeholder: 'HOST:PORT,…',
    description: 'Brokers to ask first.',
  }),
  kafkaPrefix: withMeta(KafkaPrefix.optional(), {
    placeholder: 'PREFIX',
    description:
      'In front of the names of topics and consumer groups, for several fleets on one Kafka; ends in ".", "_" or "-".',
  }),
  kafkaTls: withMeta(Switch.prefault('false'), {
    description: 'Use TLS, with the public certificate authorities unless a file is given.',
  }),
  kafkaCaFile: withMeta(FilePath.optional(), {
    description: 'Certificate authorities that sign the brokers’ certificates, PEM.',
  }),
  kafkaCertificateFile: withMeta(FilePath.optional(), { description: 'Own certificate, PEM.' }),
  kafkaKeyFile: withMeta(FilePath.optional(), { description: 'Key of the own certificate, PEM.' }),
  kafkaSaslMechanism: withMeta(
    z.enum(['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer']).optional(),
    {
      description: 'How to log in to the brokers.',
    },
  ),
  kafkaPlainWithoutTls: withMeta(Switch.prefault('false'), {
    description: 'Send the password of plain in the clear where TLS is not used.',
  }),
  kafkaUsername: withMeta(Text.optional(), {
    description: 'Name to log in with; with --kafka-token-url the client’s id.',
  }),
  kafkaPasswordFile: withMeta(FilePath.optional(), {
    description:
      'File that holds the password, or with --kafka-token-url the client’s secret; a newline at its end is ignored.',
  }),
  kafkaTokenFile: withMeta(FilePath.optional(), {
    description: 'For oauthbearer: file that holds a token, read anew for each login.',
  }),
  kafkaTokenUrl: withMeta(Text.optional(), {
    placeholder: 'URL',
    description: 'For oauthbearer: where tokens are asked for, by client credentials; https only.',
  }),
  kafkaTokenScope: withMeta(Text.optional(), { description: 'Scope of the tokens that are asked for.' }),
  kafkaTokenCaFile: withMeta(FilePath.optional(), {
    description: 'Certificate authorities that sign the certificate of the token URL, PEM.',
  }),
  kafkaReplicationFactor: withMeta(OneOrMore.prefault('3'), {
    description: 'Copies of each record, for topics that are created.',
  }),
  kafkaMinInsyncReplicas: withMeta(OneOrMore.optional(), {
    description: 'Copies that must be written before a record counts as kept; one less than there are.',
  }),
  kafkaTopicConfig: withMeta(TopicSettings.prefault(''), {
    placeholder: '[TOPIC:]NAME=VALUE,…',
    description:
      'Settings of topics that are created or checked, in place of FleetGC’s; an empty VALUE leaves one to the broker.',
  }),
  kafkaCompression: withMeta(z.enum(['zstd', 'gzip']).prefault('zstd'), {
    description: 'How records are compressed; gzip for readers that know no zstd.',
  }),
});

const EventLogChoice = z.object(eventLogOptions('kafka'));
export type EventLogChoice = z.infer<typeof EventLogChoice>;

export type ReadTextFile = (path: string) => TextFile;

/** What only the process knows. */
export interface SettingsContext {
  /** Names this process in the brokers' logs. */
  readonly clientId: string;
  readonly readTextFile: ReadTextFile;
}

/**
 * Checks that the options agree with each other and that the files they name can be read. Throws `CONFIG_INVALID` with
 * all problems. Secrets come from files only, so that none shows in a process list.
 */
export function readEventLogSettings(options: EventLogChoice, context: SettingsContext): EventLogOptions {
  const { log, logPath, logMaxSize } = options;
  if (log === 'embedded') return parseSettings({ kind: log, path: logPath, maxBytes: Number(logMaxSize) });
  const problems = [...disagreements(options), ...unreadableFiles(options, context.readTextFile)];
  if (problems.length > 0) throw configError(problems);
  return parseSettings({
    kind: log,
    brokers: options.kafkaBrokers,
    prefix: options.kafkaPrefix,
    clientId: context.clientId,
    replicationFactor: options.kafkaReplicationFactor,
    minInsyncReplicas: options.kafkaMinInsyncReplicas,
    ...(options.kafkaTopicConfig.length > 0 && { topicConfig: options.kafkaTopicConfig }),
    compression: options.kafkaCompression,
    ...(options.kafkaTls && { ssl: sslOf(options) }),
    ...saslOf(options),
  });
}

/** The same for somebody who waits for the answer: an event log that is out of reach is told soon. */
export const forTask = (settings: EventLogOptions): EventLogOptions =>
  settings.kind === 'kafka' ? { ...settings, waits: 'short' } : forAsking(settings);

/** The same for a process that only asks: it deletes nothing. */
export const forAsking = (settings: EventLogOptions): EventLogOptions =>
  settings.kind === 'embedded' ? { ...settings, leavesRetention: true } : settings;

function parseSettings(settings: unknown): EventLogOptions {
  const { success, data, error } = EventLogOptions.safeParse(settings);
  if (success) return data;
  throw configError(error.issues.map(({ path, message }) => `event log: ${path.join('.')} ${message}`));
}

const sslOf = (options: EventLogChoice) => ({
  caFile: options.kafkaCaFile,
  certFile: options.kafkaCertificateFile,
  keyFile: options.kafkaKeyFile,
});

function saslOf(options: EventLogChoice): { readonly sasl?: unknown } {
  const { kafkaSaslMechanism: mechanism, kafkaUsername: username, kafkaPasswordFile: passwordFile } = options;
  if (mechanism === undefined) return {};
  if (mechanism === 'oauthbearer') return { sasl: { mechanism, token: tokenOf(options) } };
  return { sasl: { mechanism, username, passwordFile } };
}

const tokenOf = (options: EventLogChoice): unknown =>
  options.kafkaTokenFile === undefined
    ? {
        from: 'client-credentials',
        url: options.kafkaTokenUrl,
        clientId: options.kafkaUsername,
        secretFile: options.kafkaPasswordFile,
        scope: options.kafkaTokenScope,
        caFile: options.kafkaTokenCaFile,
      }
    : { from: 'file', path: options.kafkaTokenFile };

function* disagreements(options: EventLogChoice): Iterable<string> {
  if (!options.kafkaBrokers?.length)
    yield '--kafka-brokers is missing; give it, or --log embedded for one machine';
  for (const broker of options.kafkaBrokers ?? []) yield* noBroker(broker);
  yield* together(options, 'kafkaCertificateFile', 'kafkaKeyFile');
  yield* options.kafkaSaslMechanism === 'oauthbearer'
    ? tokenDisagreements(options)
    : passwordDisagreements(options);
  yield* tlsWithoutUse(options);
  yield* passwordInTheClear(options);
}

/** kafkajs takes what stands before the first colon for the host. */
function* noBroker(broker: string): Iterable<string> {
  const [, port] = /^[^:[\]\s/]+:([0-9]{1,5})$/.exec(broker) ?? [];
  const [, address = ''] = /^\[?(.*?)\]?:[0-9]+$/.exec(broker) ?? [];
  if (isIPv6(address)) {
    yield `--kafka-brokers cannot reach ${JSON.stringify(broker)}, an address of IPv6, yet: write a name that stands for it`;
  } else if (port === undefined || Number(port) < 1 || Number(port) > 65_535) {
    yield `--kafka-brokers must be HOST:PORT, not ${JSON.stringify(broker)}`;
  }
}

const TOKEN_OPTIONS = ['kafkaTokenFile', 'kafkaTokenUrl', 'kafkaTokenScope', 'kafkaTokenCaFile'] as const;

function* passwordDisagreements(options: EventLogChoice): Iterable<string> {
  yield* together(options, 'kafkaSaslMechanism', 'kafkaUsername');
  yield* together(options, 'kafkaSaslMechanism', 'kafkaPasswordFile');
  yield* together(options, 'kafkaUsername', 'kafkaPasswordFile');
  for (const key of TOKEN_OPTIONS)
    if (options[key] !== undefined) yield `${flagOf(key)} needs --kafka-sasl-mechanism oauthbearer`;
}

/** A token comes from a file, or is asked for with a name and a password. */
function* tokenDisagreements(options: EventLogChoice): Iterable<string> {
  const { kafkaTokenFile, kafkaTokenUrl, kafkaTls } = options;
  if (!kafkaTls)
    yield '--kafka-sasl-mechanism oauthbearer needs --kafka-tls: without it the token goes over the network in the clear';
  if ((kafkaTokenFile === undefined) === (kafkaTokenUrl === undefined))
    yield '--kafka-sasl-mechanism oauthbearer needs either --kafka-token-file or --kafka-token-url';
  if (kafkaTokenUrl !== undefined && !/^https:\/\/[^/]/.test(kafkaTokenUrl))
    yield `--kafka-token-url must be an https URL, not ${JSON.stringify(kafkaTokenUrl)}`;
  yield* together(options, 'kafkaTokenUrl', 'kafkaUsername');
  yield* together(options, 'kafkaTokenUrl', 'kafkaPasswordFile');
  for (const key of ['kafkaTokenScope', 'kafkaTokenCaFile'] as const)
    if (options[key] !== undefined && kafkaTokenUrl === undefined)
      yield `${flagOf(key)} needs --kafka-token-url`;
}

function* passwordInTheClear(options: EventLogChoice): Iterable<string> {
  const { kafkaSaslMechanism, kafkaTls, kafkaPlainWithoutTls } = options;
  if (kafkaSaslMechanism !== 'plain' || kafkaTls || kafkaPlainWithoutTls) return;
  yield '--kafka-sasl-mechanism plain needs --kafka-tls: without it the password goes over the network in the clear. --kafka-plain-without-tls allows that, where nobody can listen';
}

function* together(
  options: EventLogChoice,
  one: keyof EventLogChoice,
  other: keyof EventLogChoice,
): Iterable<string> {
  if ((options[one] === undefined) === (options[other] === undefined)) return;
  const [given, missing] = options[one] === undefined ? [other, one] : [one, other];
  yield `${flagOf(given)} needs ${flagOf(missing)}`;
}

/** A certificate that is not used would be a connection in clear text that looks like a safe one. */
function* tlsWithoutUse(options: EventLogChoice): Iterable<string> {
  if (options.kafkaTls) return;
  for (const key of ['kafkaCaFile', 'kafkaCertificateFile', 'kafkaKeyFile'] as const) {
    if (options[key] !== undefined) yield `${flagOf(key)} needs --kafka-tls`;
  }
}

const FILE_OPTIONS = [
  'kafkaCaFile',
  'kafkaCertificateFile',
  'kafkaKeyFile',
  'kafkaPasswordFile',
  'kafkaTokenFile',
  'kafkaTokenCaFile',
] as const;

function* unreadableFiles(options: EventLogChoice, readTextFile: ReadTextFile): Iterable<string> {
  for (const key of FILE_OPTIONS) {
    const path = options[key];
    if (path === undefined) continue;
    const file = readTextFile(path);
    if (!file.ok) yield `${flagOf(key)}: cannot read ${path} (${file.reason})`;
    else if (file.text.trim() === '') yield `${flagOf(key)}: ${path} is empty`;
  }
}

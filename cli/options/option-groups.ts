import { z } from 'zod';
import {
  FilePath,
  ListenAddress,
  Switch,
  Text,
  TextList,
  WholeNumber,
  withMeta,
} from '../../packages/process/options/options.ts';
import { Bytes } from '../../schemas/policy/quantity.ts';

/** Options that several verbs share, as shapes to spread into a verb's own `z.object({ ... })`. */

/** Every verb has these; `defineVerb` adds them. */
export const loggingOptions = {
  logLevel: withMeta(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).prefault('info'),
    {
      description: 'Least severe messages to write to stderr.',
    },
  ),
};

/** For verbs that serve: health and metrics. Each verb has a port of its own, since agents share a node. */
export const httpOptions = (port: number) => ({
  httpAddress: withMeta(
    z
      .union([z.literal('none').transform(() => null), ListenAddress], {
        error: 'must be HOST:PORT, such as 127.0.0.1:9464 or [::]:9464, or none',
      })
      .prefault(`127.0.0.1:${port}`),
    {
      placeholder: 'HOST:PORT|none',
      description: 'Where to serve /livez, /readyz and /metrics.',
    },
  ),
});

const LogSize = Bytes.refine((bytes) => bytes >= 16n * 1024n ** 2n, { error: 'must be at least 16Mi' });
const OneOrMore = WholeNumber.refine((number) => number >= 1, { error: 'must be at least 1' });

/** Which event log to use, and how to reach it. `readLogSettings` makes settings of them. */
export const logOptions = (kind: 'kafka' | 'embedded') => ({
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
  kafkaTls: withMeta(Switch.prefault('false'), {
    description: 'Use TLS, with the public certificate authorities unless a file is given.',
  }),
  kafkaCaFile: withMeta(FilePath.optional(), {
    description: 'Certificate authorities that sign the brokers’ certificates, PEM.',
  }),
  kafkaCertificateFile: withMeta(FilePath.optional(), { description: 'Own certificate, PEM.' }),
  kafkaKeyFile: withMeta(FilePath.optional(), { description: 'Key of the own certificate, PEM.' }),
  kafkaSaslMechanism: withMeta(z.enum(['plain', 'scram-sha-512']).optional(), {
    description: 'How to log in to the brokers.',
  }),
  kafkaPlainWithoutTls: withMeta(Switch.prefault('false'), {
    description: 'Send the password of plain in the clear where TLS is not used.',
  }),
  kafkaUsername: withMeta(Text.optional(), { description: 'Name to log in with.' }),
  kafkaPasswordFile: withMeta(FilePath.optional(), {
    description: 'File that holds the password; a newline at its end is ignored.',
  }),
  kafkaReplicationFactor: withMeta(OneOrMore.prefault('3'), {
    description: 'Copies of each record, for topics that are created.',
  }),
  kafkaMinInsyncReplicas: withMeta(OneOrMore.optional(), {
    description: 'Copies that must be written before a record counts as kept; one less than there are.',
  }),
  kafkaCompression: withMeta(z.enum(['zstd', 'gzip']).prefault('zstd'), {
    description: 'How records are compressed; gzip for readers that know no zstd.',
  }),
});

const LogOptions = z.object(logOptions('kafka'));
export type LogOptions = z.infer<typeof LogOptions>;

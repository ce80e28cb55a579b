import { expect, test } from 'vitest';
import { z } from 'zod';
import { eventLogOptions, readEventLogSettings } from '../../../cli/options/event-log-options.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { TextFile } from '../../../packages/process/options/named-file.ts';
import { loadOptions } from '../../support/load-options.ts';

const FILES: Readonly<Record<string, string>> = {
  'ca.pem': 'CA',
  'cert.pem': 'CERT',
  'key.pem': 'KEY',
  password: 'secret\n',
  token: 'a.b.c',
  empty: '\n',
};

function readTextFile(path: string): TextFile {
  const text = FILES[path];
  return text === undefined ? { ok: false, reason: 'there is no such file' } : { ok: true, text };
}

const settingsOf = (flags: Record<string, string | boolean>) =>
  readEventLogSettings(
    loadOptions(z.object(eventLogOptions('kafka')), { flags, environment: {}, file: null }),
    {
      clientId: 'test',
      readTextFile,
    },
  );

const broker = { kafkaBrokers: 'k1:9092,10.0.0.7:9093' };
const sasl = { kafkaSaslMechanism: 'scram-sha-512', kafkaUsername: 'u', kafkaPasswordFile: 'password' };

const bearer = { kafkaTls: true, kafkaSaslMechanism: 'oauthbearer' };
const tokenServer = {
  kafkaTokenUrl: 'https://idp.example/token',
  kafkaUsername: 'u',
  kafkaPasswordFile: 'password',
};

const kafka = {
  kind: 'kafka',
  brokers: ['k1:9092', '10.0.0.7:9093'],
  prefix: '',
  clientId: 'test',
  replicationFactor: 3,
  compression: 'zstd',
  waits: 'long',
};

test.each<{ name: string; flags: Record<string, string | boolean>; settings: unknown }>([
  {
    name: 'embedded',
    flags: { log: 'embedded', logPath: '/x/log.db' },
    settings: { kind: 'embedded', path: '/x/log.db', maxBytes: 2 ** 30 },
  },
  {
    name: 'embedded with a size',
    flags: { log: 'embedded', logPath: '/x/log.db', logMaxSize: '16Mi' },
    settings: { kind: 'embedded', path: '/x/log.db', maxBytes: 2 ** 24 },
  },
  { name: 'plain brokers', flags: broker, settings: kafka },
  {
    name: 'a prefix',
    flags: { ...broker, kafkaPrefix: 'acme.' },
    settings: { ...kafka, prefix: 'acme.' },
  },
  { name: 'an empty prefix', flags: { ...broker, kafkaPrefix: '' }, settings: kafka },
  {
    name: 'a prefix, where a file has no use for it',
    flags: { log: 'embedded', logPath: '/x/log.db', kafkaPrefix: 'acme.' },
    settings: { kind: 'embedded', path: '/x/log.db', maxBytes: 2 ** 30 },
  },
  {
    name: 'topics that are created',
    flags: { ...broker, kafkaReplicationFactor: '2', kafkaMinInsyncReplicas: '1', kafkaCompression: 'gzip' },
    settings: { ...kafka, replicationFactor: 2, minInsyncReplicas: 1, compression: 'gzip' },
  },
  {
    name: 'settings of topics',
    flags: { ...broker, kafkaTopicConfig: 'segment.ms=14400000,gc.policies:segment.ms=' },
    settings: {
      ...kafka,
      topicConfig: [
        { topic: null, name: 'segment.ms', value: '14400000' },
        { topic: 'gc.policies', name: 'segment.ms', value: '' },
      ],
    },
  },
  {
    name: 'TLS with the authorities that the system trusts',
    flags: { ...broker, kafkaTls: true },
    settings: { ...kafka, ssl: {} },
  },
  {
    name: 'TLS with own files',
    flags: {
      ...broker,
      kafkaTls: true,
      kafkaCaFile: 'ca.pem',
      kafkaCertificateFile: 'cert.pem',
      kafkaKeyFile: 'key.pem',
    },
    settings: { ...kafka, ssl: { caFile: 'ca.pem', certFile: 'cert.pem', keyFile: 'key.pem' } },
  },
  {
    name: 'a password in a file',
    flags: { ...broker, ...sasl },
    settings: { ...kafka, sasl: { mechanism: 'scram-sha-512', username: 'u', passwordFile: 'password' } },
  },
  {
    name: 'a password in the clear, where it was allowed',
    flags: { ...broker, ...sasl, kafkaSaslMechanism: 'plain', kafkaPlainWithoutTls: true },
    settings: { ...kafka, sasl: { mechanism: 'plain', username: 'u', passwordFile: 'password' } },
  },
  {
    name: 'a password of plain over TLS',
    flags: { ...broker, ...sasl, kafkaSaslMechanism: 'plain', kafkaTls: true },
    settings: {
      ...kafka,
      ssl: {},
      sasl: { mechanism: 'plain', username: 'u', passwordFile: 'password' },
    },
  },
  {
    name: 'a token in a file',
    flags: { ...broker, ...bearer, kafkaTokenFile: 'token' },
    settings: {
      ...kafka,
      ssl: {},
      sasl: { mechanism: 'oauthbearer', token: { from: 'file', path: 'token' } },
    },
  },
  {
    name: 'tokens that are asked for',
    flags: { ...broker, ...bearer, ...tokenServer, kafkaTokenScope: 'kafka', kafkaTokenCaFile: 'ca.pem' },
    settings: {
      ...kafka,
      ssl: {},
      sasl: {
        mechanism: 'oauthbearer',
        token: {
          from: 'client-credentials',
          url: 'https://idp.example/token',
          clientId: 'u',
          secretFile: 'password',
          scope: 'kafka',
          caFile: 'ca.pem',
        },
      },
    },
  },
])('gives settings for $name', ({ flags, settings }) => {
  expect(settingsOf(flags)).toEqual(settings);
});

test.each<readonly [Record<string, string>, string]>([
  [{ logMaxSize: '16777215' }, '--log-max-size must be at least 16Mi, not "16777215"'],
  ...['acme', '.acme.', 'a b.', 'ä.', '.'].map(
    (kafkaPrefix) =>
      [
        { kafkaPrefix },
        `--kafka-prefix must be of letters, digits, ".", "_" and "-", and end in one of these three, such as acme., not ${JSON.stringify(kafkaPrefix)}`,
      ] as const,
  ),
  [
    { kafkaPrefix: 'acme.fleetgc-notify-' },
    '--kafka-prefix must not contain fleetgc-notify-, not "acme.fleetgc-notify-"',
  ],
  [{ kafkaReplicationFactor: '0' }, '--kafka-replication-factor must be at least 1, not "0"'],
])('refuses %j', (flags, message) => {
  expect(() => settingsOf({ ...broker, ...flags })).toThrow(new FleetGcError('CONFIG_INVALID', message));
});

test.each<{ name: string; flags: Record<string, string | boolean>; message: string }>([
  {
    name: 'no brokers',
    flags: {},
    message: '--kafka-brokers is missing; give it, or --log embedded for one machine',
  },
  {
    name: 'a broker without port',
    flags: { kafkaBrokers: 'k1' },
    message: '--kafka-brokers must be HOST:PORT, not "k1"',
  },
  ...['k1:0', 'k1:65536'].map((kafkaBrokers) => ({
    name: 'a broker at a port that cannot be',
    flags: { kafkaBrokers },
    message: `--kafka-brokers must be HOST:PORT, not "${kafkaBrokers}"`,
  })),
  ...['[fd00::1]:9092', 'fd00::1:9092', '[fe80::1%eth0]:9092', '[::1]:0'].map((address) => ({
    name: 'a broker by an address of IPv6',
    flags: { kafkaBrokers: `k1:9092,${address}` },
    message: `--kafka-brokers cannot reach "${address}", an address of IPv6, yet: write a name that stands for it`,
  })),
  {
    name: 'a password that would go over the network in the clear',
    flags: { ...broker, ...sasl, kafkaSaslMechanism: 'plain' },
    message:
      '--kafka-sasl-mechanism plain needs --kafka-tls: without it the password goes over the network in the clear. --kafka-plain-without-tls allows that, where nobody can listen',
  },
  {
    name: 'a password without name',
    flags: { ...broker, kafkaTls: true, kafkaSaslMechanism: 'plain', kafkaPasswordFile: 'password' },
    message:
      '2 problems:\n  --kafka-sasl-mechanism needs --kafka-username\n  --kafka-password-file needs --kafka-username',
  },
  {
    name: 'a certificate without its key',
    flags: { ...broker, kafkaTls: true, kafkaCertificateFile: 'cert.pem' },
    message: '--kafka-certificate-file needs --kafka-key-file',
  },
  {
    name: 'an authority without TLS',
    flags: { ...broker, kafkaCaFile: 'ca.pem' },
    message: '--kafka-ca-file needs --kafka-tls',
  },
  {
    name: 'a token that would go over the network in the clear',
    flags: { ...broker, ...bearer, kafkaTls: false, kafkaTokenFile: 'token' },
    message:
      '--kafka-sasl-mechanism oauthbearer needs --kafka-tls: without it the token goes over the network in the clear',
  },
  {
    name: 'no token',
    flags: { ...broker, ...bearer },
    message: '--kafka-sasl-mechanism oauthbearer needs either --kafka-token-file or --kafka-token-url',
  },
  {
    name: 'two ways to a token',
    flags: { ...broker, ...bearer, ...tokenServer, kafkaTokenFile: 'token' },
    message: '--kafka-sasl-mechanism oauthbearer needs either --kafka-token-file or --kafka-token-url',
  },
  {
    name: 'a secret that would go over the network in the clear',
    flags: { ...broker, ...bearer, ...tokenServer, kafkaTokenUrl: 'http://idp.example/token' },
    message: '--kafka-token-url must be an https URL, not "http://idp.example/token"',
  },
  {
    name: 'a token server without a secret',
    flags: { ...broker, ...bearer, kafkaTokenUrl: 'https://idp.example/token', kafkaUsername: 'u' },
    message: '--kafka-token-url needs --kafka-password-file',
  },
  {
    name: 'a password beside a token',
    flags: {
      ...broker,
      ...bearer,
      kafkaTokenFile: 'token',
      kafkaUsername: 'u',
      kafkaPasswordFile: 'password',
    },
    message:
      '2 problems:\n  --kafka-username needs --kafka-token-url\n  --kafka-password-file needs --kafka-token-url',
  },
  {
    name: 'a token that is not used',
    flags: { ...broker, ...sasl, kafkaTokenFile: 'token' },
    message: '--kafka-token-file needs --kafka-sasl-mechanism oauthbearer',
  },
  {
    name: 'files that are missing or empty',
    flags: { ...broker, ...sasl, kafkaTls: true, kafkaCaFile: 'none', kafkaPasswordFile: 'empty' },
    message:
      '2 problems:\n  --kafka-ca-file: cannot read none (there is no such file)\n  --kafka-password-file: empty is empty',
  },
])('refuses $name', ({ flags, message }) => {
  expect(() => settingsOf(flags)).toThrow(new FleetGcError('CONFIG_INVALID', message));
});

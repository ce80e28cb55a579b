import pino from 'pino';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineVerb, NO_PROGRESS } from '../../../cli/framework/verb.ts';
import { WrittenRecords } from '../../../cli/framework/written-records.ts';
import { httpOptions } from '../../../cli/options/common-options.ts';
import { eventLogOptions } from '../../../cli/options/event-log-options.ts';
import { Text, WholeNumber, withMeta } from '../../../packages/process/options/options.ts';

const context = {
  signal: new AbortController().signal,
  logger: pino({ level: 'silent' }),
  print: () => undefined,
  write: async () => undefined,
  terminalColumns: null,
  progress: NO_PROGRESS,
  environment: {},
  written: new WrittenRecords(),
  allVerbs: async () => [],
};

const verbWith = (ran: unknown[]) =>
  defineVerb({
    examples: ['fleetgc read'],
    options: z.object({
      cluster: withMeta(Text, { description: 'Name of the cluster.', placeholder: 'NAME' }),
      workers: withMeta(WholeNumber.prefault('2'), { description: 'How many.' }),
      ...httpOptions(9470),
      ...eventLogOptions('kafka'),
    }),
    run: async (options) => {
      ran.push(options);
    },
  });

test('describes its options for help texts', () => {
  const options = new Map(verbWith([]).options.map((option) => [option.key, option]));
  expect(options.get('cluster')).toEqual({
    key: 'cluster',
    flag: '--cluster',
    variable: 'FLEETGC_CLUSTER',
    kind: 'value',
    positional: false,
    commandLineOnly: false,
    mayBeBare: false,
    placeholder: 'NAME',
    description: 'Name of the cluster.',
    required: true,
  });
  expect(options.get('kafkaSaslMechanism')).toMatchObject({
    flag: '--kafka-sasl-mechanism',
    variable: 'FLEETGC_KAFKA_SASL_MECHANISM',
    placeholder: 'plain|scram-sha-256|scram-sha-512|oauthbearer',
    required: false,
  });
  expect(options.get('kafkaTls')).toMatchObject({ kind: 'switch', default: 'false' });
  expect(options.get('kafkaBrokers')).toMatchObject({ kind: 'list', placeholder: 'HOST:PORT,…' });
  expect(options.get('httpAddress')).toMatchObject({
    default: '127.0.0.1:9470',
    placeholder: 'HOST:PORT|none',
  });
  expect(options.get('logLevel')).toMatchObject({ default: 'info' });
  expect([...options.values()].every(({ description }) => description !== '')).toBe(true);
});

test('runs with the options as values', async () => {
  const ran: unknown[] = [];
  const prepared = verbWith(ran).prepare({
    flags: { cluster: 'c', logLevel: 'debug', httpAddress: 'none' },
    environment: { FLEETGC_KAFKA_BROKERS: 'a:9092,b:9092' },
    file: { path: 'f.yaml', text: 'logLevel: warn\nworkers: 7\nlog: kafka' },
  });
  await prepared.run(context);
  expect(prepared.logging).toEqual({ logLevel: 'debug' });
  expect(ran).toEqual([
    expect.objectContaining({
      cluster: 'c',
      workers: 7,
      httpAddress: null,
      kafkaBrokers: ['a:9092', 'b:9092'],
    }),
  ]);
});

test('names the problems of its own options and of the common ones together', () => {
  const flags = { logLevel: 'loud', workers: '-1' };
  const file = { path: 'f.yaml', text: 'nope: 1' };
  expect(() => verbWith([]).prepare({ flags, environment: {}, file })).toThrow(
    [
      '4 problems:',
      '  f.yaml:1:1: nope is not an option',
      '  --cluster is missing',
      '  --workers must be a whole number, not "-1"',
      '  --log-level must be one of trace, debug, info, warn, error, fatal, silent, not "loud"',
    ].join('\n'),
  );
});

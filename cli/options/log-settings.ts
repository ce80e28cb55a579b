import { EventLogOptions } from '../../packages/event-log/open.ts';
import type { TextFile } from '../../packages/process/options/named-file.ts';
import { flagOf } from '../../packages/process/options/options.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import type { LogOptions } from './option-groups.ts';

export type ReadTextFile = (path: string) => TextFile;

/** What only the process knows. */
export interface LogSettingsContext {
  /** Names this process in the brokers' logs. */
  readonly clientId: string;
  readonly readTextFile: ReadTextFile;
}

/**
 * Checks that the options agree with each other and that the files they name can be read. Throws `CONFIG_INVALID` with
 * all problems. Secrets come from files only, so that none shows in a process list.
 */
export function readLogSettings(options: LogOptions, context: LogSettingsContext): EventLogOptions {
  const { log, logPath, logMaxSize } = options;
  if (log === 'embedded') return parseSettings({ kind: log, path: logPath, maxBytes: Number(logMaxSize) });
  const problems = [...disagreements(options), ...unreadableFiles(options, context.readTextFile)];
  if (problems.length > 0) throw configError(problems);
  return parseSettings({
    kind: log,
    brokers: options.kafkaBrokers,
    clientId: context.clientId,
    replicationFactor: options.kafkaReplicationFactor,
    minInsyncReplicas: options.kafkaMinInsyncReplicas,
    compression: options.kafkaCompression,
    ...(options.kafkaTls && { ssl: sslOf(options) }),
    ...(options.kafkaSaslMechanism && { sasl: saslOf(options) }),
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

const sslOf = (options: LogOptions) => ({
  caFile: options.kafkaCaFile,
  certFile: options.kafkaCertificateFile,
  keyFile: options.kafkaKeyFile,
});

const saslOf = (options: LogOptions) => ({
  mechanism: options.kafkaSaslMechanism,
  username: options.kafkaUsername,
  passwordFile: options.kafkaPasswordFile,
});

function* disagreements(options: LogOptions): Iterable<string> {
  if (!options.kafkaBrokers?.length)
    yield '--kafka-brokers is missing; give it, or --log embedded for one machine';
  for (const broker of options.kafkaBrokers ?? []) {
    const [, port] = /^(?:\[[0-9a-fA-F:]+\]|[^:[\]\s/]+):([0-9]{1,5})$/.exec(broker) ?? [];
    if (port === undefined || Number(port) < 1 || Number(port) > 65_535) {
      yield `--kafka-brokers must be HOST:PORT, not ${JSON.stringify(broker)}`;
    }
  }
  yield* together(options, 'kafkaCertificateFile', 'kafkaKeyFile');
  yield* together(options, 'kafkaSaslMechanism', 'kafkaUsername');
  yield* together(options, 'kafkaSaslMechanism', 'kafkaPasswordFile');
  yield* together(options, 'kafkaUsername', 'kafkaPasswordFile');
  yield* tlsWithoutUse(options);
  yield* passwordInTheClear(options);
}

function* passwordInTheClear(options: LogOptions): Iterable<string> {
  const { kafkaSaslMechanism, kafkaTls, kafkaPlainWithoutTls } = options;
  if (kafkaSaslMechanism !== 'plain' || kafkaTls || kafkaPlainWithoutTls) return;
  yield '--kafka-sasl-mechanism plain needs --kafka-tls: without it the password goes over the network in the clear. --kafka-plain-without-tls allows that, where nobody can listen';
}

function* together(options: LogOptions, one: keyof LogOptions, other: keyof LogOptions): Iterable<string> {
  if ((options[one] === undefined) === (options[other] === undefined)) return;
  const [given, missing] = options[one] === undefined ? [other, one] : [one, other];
  yield `${flagOf(given)} needs ${flagOf(missing)}`;
}

/** A certificate that is not used would be a connection in clear text that looks like a safe one. */
function* tlsWithoutUse(options: LogOptions): Iterable<string> {
  if (options.kafkaTls) return;
  for (const key of ['kafkaCaFile', 'kafkaCertificateFile', 'kafkaKeyFile'] as const) {
    if (options[key] !== undefined) yield `${flagOf(key)} needs --kafka-tls`;
  }
}

const FILE_OPTIONS = ['kafkaCaFile', 'kafkaCertificateFile', 'kafkaKeyFile', 'kafkaPasswordFile'] as const;

function* unreadableFiles(options: LogOptions, readTextFile: ReadTextFile): Iterable<string> {
  for (const key of FILE_OPTIONS) {
    const path = options[key];
    if (path === undefined) continue;
    const file = readTextFile(path);
    if (!file.ok) yield `${flagOf(key)}: cannot read ${path} (${file.reason})`;
    else if (file.text.trim() === '') yield `${flagOf(key)}: ${path} is empty`;
  }
}

import { configError } from './config.ts';
import type { LogOptions } from './option-groups.ts';
import { flagOf } from './options.ts';
import type { TextFile } from './text-file.ts';

export interface TlsSettings {
  /** PEM; absent means the public certificate authorities. */
  readonly ca?: string;
  /** PEM, both or none. */
  readonly cert?: string;
  readonly key?: string;
}

export interface SaslSettings {
  readonly mechanism: 'plain' | 'scram-sha-512';
  readonly username: string;
  readonly password: string;
}

export type LogSettings =
  | { readonly kind: 'embedded'; readonly path: string }
  | {
      readonly kind: 'kafka';
      readonly brokers: readonly string[];
      readonly tls: TlsSettings | null;
      readonly sasl: SaslSettings | null;
    };

export type ReadTextFile = (path: string) => TextFile;

type FileOption = 'kafkaCaFile' | 'kafkaCertificateFile' | 'kafkaKeyFile' | 'kafkaPasswordFile';

/**
 * Checks that the options agree with each other and reads the files they name. Throws `CONFIG_INVALID` with all
 * problems. Secrets come from files only, so that none shows in a process list.
 */
export function readLogSettings(options: LogOptions, readTextFile: ReadTextFile): LogSettings {
  if (options.log === 'embedded') return { kind: 'embedded', path: options.logPath };
  const problems = [...disagreements(options)];
  const read = fileReader(options, readTextFile, problems);
  const settings: LogSettings = {
    kind: 'kafka',
    brokers: options.kafkaBrokers ?? [],
    tls: readTls(options, read),
    sasl: readSasl(options, read),
  };
  if (problems.length > 0) throw configError(problems);
  return settings;
}

function* disagreements(options: LogOptions): Iterable<string> {
  if (!options.kafkaBrokers?.length)
    yield '--kafka-brokers is missing; give it, or --log embedded for one machine';
  for (const broker of options.kafkaBrokers ?? []) {
    if (!/^(\[[0-9a-fA-F:]+\]|[^:[\]\s/]+):[0-9]{1,5}$/.test(broker)) {
      yield `--kafka-brokers must be HOST:PORT, not ${JSON.stringify(broker)}`;
    }
  }
  yield* together(options, 'kafkaCertificateFile', 'kafkaKeyFile');
  yield* together(options, 'kafkaSaslMechanism', 'kafkaUsername');
  yield* together(options, 'kafkaSaslMechanism', 'kafkaPasswordFile');
  yield* together(options, 'kafkaUsername', 'kafkaPasswordFile');
  yield* tlsWithoutUse(options);
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

type ReadOption = (key: FileOption) => string | undefined;

function fileReader(options: LogOptions, readTextFile: ReadTextFile, problems: string[]): ReadOption {
  return (key) => {
    const path = options[key];
    if (path === undefined) return undefined;
    const file = readTextFile(path);
    if (!file.ok) problems.push(`${flagOf(key)}: cannot read ${path} (${file.reason})`);
    else if (file.text.trim() === '') problems.push(`${flagOf(key)}: ${path} is empty`);
    return file.ok ? file.text : undefined;
  };
}

function readTls(options: LogOptions, read: ReadOption): TlsSettings | null {
  if (!options.kafkaTls) return null;
  const [ca, cert, key] = [read('kafkaCaFile'), read('kafkaCertificateFile'), read('kafkaKeyFile')];
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
}

function readSasl(options: LogOptions, read: ReadOption): SaslSettings | null {
  const password = read('kafkaPasswordFile')?.replace(/\r?\n$/, '');
  const { kafkaSaslMechanism: mechanism, kafkaUsername: username } = options;
  return mechanism === undefined || username === undefined || password === undefined
    ? null
    : { mechanism, username, password };
}

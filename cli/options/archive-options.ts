import { isIP } from 'node:net';
import { z } from 'zod';
import type { HeadSigner } from '../../packages/archive/sign-head.ts';
import type { ArchivePlace, S3Encryption } from '../../packages/archive/store.ts';
import type { WorkerSource } from '../../packages/audit/events/open-source.ts';
import type { Command } from '../../packages/process/command-output.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { FilePath, Switch, Text, withMeta } from '../../packages/process/options/options.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import { readPrivateKey } from '../../packages/records/trust/private-key.ts';
import { readTrustRoots } from '../../packages/records/trust/roots-file.ts';
import { eventLogOptions, forTask, readEventLogSettings } from './event-log-options.ts';
import { privateKeySource, signingKeyOptions } from './trust-options.ts';

/** How object storage is reached. Credentials are no options: they come from where those of AWS's own tools come from. */
export const s3Options = {
  s3Endpoint: withMeta(Text.optional(), {
    placeholder: 'URL',
    description: 'Of an archive at s3://: where the storage is. Default: AWS, in the region.',
  }),
  s3Region: withMeta(Text.optional(), {
    placeholder: 'REGION',
    description: 'Of the bucket. Default: what AWS_REGION or the profile says.',
  }),
  s3PathStyle: withMeta(Switch.prefault('false'), {
    description: 'Name the bucket in the path, and not in the name of the host.',
  }),
  s3CaFile: withMeta(FilePath.optional(), {
    description: 'Certificate authority that signs the certificate of the storage, PEM.',
  }),
  s3PlainHttp: withMeta(Switch.prefault('false'), {
    description: 'Reach a storage on another machine without TLS: whoever is in between reads all.',
  }),
};

/** The same for whoever writes. */
export const s3WritingOptions = {
  ...s3Options,
  s3Encryption: withMeta(z.enum(['sse-s3', 'sse-kms']).optional(), {
    description: 'What the storage is to encrypt new objects with. Default: what the bucket says.',
  }),
  s3KmsKeyId: withMeta(Text.optional(), {
    placeholder: 'KEY',
    description: 'With sse-kms: the id or ARN of the key. Default: that of the bucket.',
  }),
};

const S3Options = z.object(s3WritingOptions);
export type S3Options = Omit<z.infer<typeof S3Options>, 's3Encryption' | 's3KmsKeyId'> &
  Partial<Pick<z.infer<typeof S3Options>, 's3Encryption' | 's3KmsKeyId'>>;

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
const S3_PLACE = /^s3:\/\/(?<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(?<prefix>.*))?$/;
const PREFIX = /^[\w!*'().=-]+(?:\/[\w!*'().=-]+)*$/;
const MOST_PREFIX = 512;

/** A directory, or a bucket with a prefix. Throws `CONFIG_INVALID`. */
export function archivePlace(text: string, options: S3Options): ArchivePlace {
  if (!SCHEME.test(text)) return text;
  const { bucket, prefix = '' } = S3_PLACE.exec(text)?.groups ?? {};
  if (bucket === undefined)
    throw configError([
      `${text} is no place of an archive: it is a directory, or s3://BUCKET/PREFIX, where BUCKET has 3 to 63 small letters, digits, dots and hyphens`,
    ]);
  return {
    bucket,
    prefix: prefixOf(prefix),
    endpoint: endpointOf(options),
    region: options.s3Region ?? null,
    pathStyle: options.s3PathStyle,
    encryption: encryptionOf(options),
    caPem: caOf(options),
  };
}

function prefixOf(text: string): string {
  const prefix = text.replace(/\/$/, '');
  if (prefix === '') return '';
  if (PREFIX.test(prefix) && prefix.length <= MOST_PREFIX && !prefix.split('/').includes('..'))
    return `${prefix}/`;
  throw configError([
    `the prefix ${text} is not one for an archive: it has letters, digits and - _ . = in parts between single slashes`,
  ]);
}

function endpointOf({ s3Endpoint, s3PlainHttp }: S3Options): string | null {
  if (s3Endpoint === undefined) return null;
  const url = URL.parse(s3Endpoint);
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.search !== '')
    throw configError(['--s3-endpoint must be a URL such as https://storage.example:9000']);
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !s3PlainHttp)
    throw configError([
      '--s3-endpoint goes over http:// to another machine, where whoever is in between reads all: use https://, or give --s3-plain-http',
    ]);
  return url.origin + url.pathname.replace(/\/$/, '');
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'));

function encryptionOf({ s3Encryption, s3KmsKeyId }: S3Options): S3Encryption | null {
  if (s3KmsKeyId !== undefined && s3Encryption !== 'sse-kms')
    throw configError(['--s3-kms-key-id is for --s3-encryption sse-kms']);
  if (s3Encryption === undefined) return null;
  return s3Encryption === 'sse-s3' ? { kind: 'sse-s3' } : { kind: 'sse-kms', keyId: s3KmsKeyId ?? null };
}

function caOf({ s3CaFile }: S3Options): string | null {
  if (s3CaFile === undefined) return null;
  const file = readTextFile(s3CaFile);
  if (!file.ok) throw configError([`--s3-ca-file: ${s3CaFile} cannot be read: ${file.reason}`]);
  if (!file.text.includes('-----BEGIN CERTIFICATE-----'))
    throw configError([`--s3-ca-file: ${s3CaFile} has no certificate in PEM`]);
  return file.text;
}

/** Which log to ask: one that lives, or an archive of it. */
export const auditLogOptions = {
  ...eventLogOptions('kafka'),
  log: withMeta(z.enum(['kafka', 'embedded', 'archive']).prefault('kafka'), {
    description: 'kafka for a fleet, embedded for one machine, archive for what was archived of either.',
  }),
  archive: withMeta(Text.optional(), {
    placeholder: 'DIRECTORY|URL',
    description: 'Where the archive is, for --log archive: a directory, or s3://BUCKET/PREFIX.',
  }),
  ...s3Options,
};

const AuditLogOptions = z.object(auditLogOptions);
export type AuditLogOptions = z.infer<typeof AuditLogOptions>;

/** For threads that open it by themselves. */
export function threadSource({ log, archive, ...others }: AuditLogOptions): WorkerSource {
  if (log === 'archive') return { kind: 'archive', place: archivePlace(archive ?? '', others) };
  const settings = readEventLogSettings({ ...others, log }, { clientId: 'fleetgc-audit', readTextFile });
  return { kind: 'log', settings: forTask(settings) };
}

/** Options of verbs that sign an archive. */
export const archiveSigningOptions = {
  trustRoots: withMeta(FilePath.optional(), {
    description: 'File of the roots, for the key that signs; "fleetgc keys roots" writes it.',
  }),
  ...signingKeyOptions,
  signFound: withMeta(Switch.prefault('false'), {
    commandLineOnly: true,
    description:
      'Also sign records of the archive that no signed head covers and that the event log no longer has. Use it once, and only if nothing else wrote to the archive: for an archive that was never signed, or after the archiver was down for longer than the event log keeps records.',
  }),
};

export interface ArchiveSigning {
  readonly trustRoots?: string | undefined;
  readonly signingKeyFile?: string | undefined;
  readonly signingKeyCommand?: Command | undefined;
  readonly signFound: boolean;
}

/**
 * `null`: the archive is not signed. The key is read now, so that a wrong one is reported at once, and again in each pass. Throws
 * `CONFIG_INVALID` and `KEY_UNUSABLE`.
 */
export async function archiveSigner(
  { trustRoots, signingKeyFile, signingKeyCommand, signFound }: ArchiveSigning,
  needs: Omit<HeadSigner, 'roots' | 'readKey' | 'signsFound'>,
  signal: AbortSignal,
): Promise<HeadSigner | null> {
  const source = privateKeySource(signingKeyFile, signingKeyCommand, 'signingKeyFile');
  if (trustRoots === undefined && source === null) return null;
  if (trustRoots === undefined || source === null) throw configError([TOGETHER]);
  await readPrivateKey(source, signal);
  return {
    ...needs,
    roots: readTrustRoots(trustRoots),
    readKey: (pass) => readPrivateKey(source, pass),
    signsFound: signFound,
  };
}

const TOGETHER =
  '--trust-roots goes together with --signing-key-file or --signing-key-command: the archiver signs with both';

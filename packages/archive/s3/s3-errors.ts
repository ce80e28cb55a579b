import { FleetGcError } from '../../process/errors.ts';
import { placeText, type S3Place } from '../store.ts';

/** What was asked of object storage, and the right that it takes. */
const S3_RIGHTS = {
  list: 's3:ListBucket',
  get: 's3:GetObject',
  put: 's3:PutObject',
  delete: 's3:DeleteObject',
  uploads: 's3:ListBucketMultipartUploads',
  abort: 's3:AbortMultipartUpload',
  parts: 's3:ListMultipartUploadParts',
} as const;
export type S3Action = keyof typeof S3_RIGHTS;

/** Who asked: an archiver tries again later, and a reader ends. */
export type S3Use = 'reading' | 'writing';

interface Asked {
  readonly place: S3Place;
  readonly action: S3Action;
  readonly use: S3Use;
}

/** The error that an operator reads. */
export function s3Error(cause: unknown, { place, action, use }: Asked): FleetGcError {
  if (cause instanceof FleetGcError) return cause;
  const name = nameOf(cause);
  const explained = EXPLAINED.find(({ names }) => names.includes(name));
  const what = explained?.text({ place, right: S3_RIGHTS[action] }) ?? unknownText(cause, name);
  const done = use === 'reading' ? 'cannot read' : 'cannot write to';
  const kept = use === 'reading' ? '' : '. Nothing is lost while the log keeps it';
  const code = use === 'reading' ? 'STATE_UNREADABLE' : 'STATE_UNWRITABLE';
  return new FleetGcError(code, `${done} the archive in ${placeText(place)}: ${what}${kept}`, { cause });
}

const unknownText = (cause: unknown, name: string): string => {
  const message = cause instanceof Error && cause.message !== '' ? cause.message : 'no reason was given';
  return message.includes(name) ? message : `${name}: ${message}`;
};

/** What the storage, the SDK or the connection calls it. */
function nameOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown';
  if ('code' in cause && typeof cause.code === 'string') return cause.code;
  const text = NAMED_IN_TEXT.find((one) => cause.message.includes(one));
  return text ?? (isForbidden(cause) && cause.name === '403' ? 'AccessDenied' : cause.name);
}

/** The SDK has no name for these. */
const NAMED_IN_TEXT = ['Region is missing', 'Could not load credentials'];

export const statusOf = (cause: unknown): number | null => {
  if (!(cause instanceof Error) || !('$metadata' in cause)) return null;
  const { $metadata: metadata } = cause;
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata)) return null;
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : null;
};

const isForbidden = (cause: unknown): boolean => statusOf(cause) === 403;

interface Explained {
  readonly names: readonly string[];
  readonly text: (asked: { readonly place: S3Place; readonly right: string }) => string;
}

const whereText = ({ endpoint }: S3Place): string => endpoint ?? 'AWS';

const EXPLAINED: readonly Explained[] = [
  {
    names: ['NoSuchBucket'],
    text: ({ place }) =>
      `there is no bucket ${place.bucket} at ${whereText(place)}: make it, or see to --s3-endpoint`,
  },
  {
    names: ['AccessDenied', 'AllAccessDisabled', 'AccountProblem', 'Forbidden'],
    text: ({ right }) =>
      `access is denied: whose credentials these are lacks the right ${right}, or the use of the key that the bucket is encrypted with`,
  },
  {
    names: ['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'InvalidToken', 'UnrecognizedClientException'],
    text: ({ place }) =>
      `${whereText(place)} does not know these credentials, or their secret is another one`,
  },
  {
    names: ['NotImplemented', 'NotSupported', '501'],
    text: ({ place }) =>
      `${whereText(place)} does not support a header that FleetGC sends. An archive needs conditional writes (If-None-Match and If-Match), so that two archivers never write over each other. AWS S3 and current releases of MinIO have them. Update the storage, use one that has them, or archive to a directory`,
  },
  {
    names: ['ExpiredToken', 'ExpiredTokenException', 'TokenRefreshRequired'],
    text: () => 'the credentials have ended: see to where they come from',
  },
  {
    names: ['CredentialsProviderError', 'Could not load credentials', 'TokenProviderError'],
    text: () =>
      'there are no credentials: they come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, a service account (IRSA, Pod Identity), or the instance',
  },
  {
    names: ['RequestTimeTooSkewed', 'RequestExpired'],
    text: () => 'the clock of this machine and that of the storage differ by too much: set the clock',
  },
  {
    names: [
      'PermanentRedirect',
      'TemporaryRedirect',
      'AuthorizationHeaderMalformed',
      'IllegalLocationConstraintException',
      '301',
    ],
    text: ({ place }) =>
      `the bucket is in another region than ${place.region ?? 'the one of this environment'}: give --s3-region`,
  },
  {
    names: ['Region is missing'],
    text: () => 'no region is known: give --s3-region, or set AWS_REGION',
  },
  {
    names: [
      'SlowDown',
      'ServiceUnavailable',
      'Throttling',
      'ThrottlingException',
      'TooManyRequests',
      '503',
      '429',
    ],
    text: () => 'the storage asks for fewer requests, also after several tries: try again later',
  },
  {
    names: ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
    text: ({ place }) => `${whereText(place)} cannot be reached: see to --s3-endpoint and the network`,
  },
  {
    names: [
      'ECONNRESET',
      'EPIPE',
      'TimeoutError',
      'ETIMEDOUT',
      'AbortError',
      'ERR_STREAM_PREMATURE_CLOSE',
      'ECONNABORTED',
    ],
    text: ({ place }) => `the connection to ${whereText(place)} was lost, also after several tries`,
  },
  {
    names: [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'CERT_HAS_EXPIRED',
    ],
    text: ({ place }) =>
      `the certificate of ${whereText(place)} is not one to trust: give the authority that signed it with --s3-ca-file`,
  },
  {
    names: ['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER'],
    text: ({ place }) => `${whereText(place)} does not speak TLS: see to --s3-endpoint`,
  },
];

import { Agent } from 'node:https';
import { rootCertificates } from 'node:tls';
import { type PutObjectCommandInput, S3Client } from '@aws-sdk/client-s3';
import type { S3Encryption, S3Place } from '../store/place.ts';
import { boundAnswers } from './bounded-answers.ts';

/** Of one request, with what it waits for in between, and the last failure is told. */
const MOST_ATTEMPTS = 5;
const CONNECT_MS = 10_000;
/** Without a byte. */
const SILENT_MS = 60_000;
const CONNECTIONS = 32;

/** A client whose credentials come from where those of AWS's own tools come from. Nothing is asked of anybody yet. */
export function s3Client({ endpoint, region, pathStyle, caPem }: S3Place): S3Client {
  const agent = { keepAlive: true, maxSockets: CONNECTIONS };
  const trusted = caPem === null ? {} : { ca: [...rootCertificates, caPem] };
  const client = new S3Client({
    ...(endpoint !== null && { endpoint }),
    ...(region !== null && { region }),
    forcePathStyle: pathStyle,
    maxAttempts: MOST_ATTEMPTS,
    retryMode: 'standard',
    // What is written has a checksum of ours, and what is read is compared with the manifest.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    followRegionRedirects: false,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: SILENT_MS,
      socketTimeout: SILENT_MS,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: new Agent({ ...agent, ...trusted }),
    },
  });
  boundAnswers(client);
  return client;
}

/** What a new object is to be encrypted with. */
export function encryptionInput(
  encryption: S3Encryption | null,
): Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId'> {
  if (encryption === null) return {};
  if (encryption.kind === 'sse-s3') return { ServerSideEncryption: 'AES256' };
  const { keyId } = encryption;
  return { ServerSideEncryption: 'aws:kms', ...(keyId !== null && { SSEKMSKeyId: keyId }) };
}

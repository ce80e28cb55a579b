import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { type CertificateRequestFacts, MAX_CONDITIONS } from '../../../schemas/events/expiry.ts';
import { ApiTime } from './times.ts';

/** Longer ones are not looked at. */
const MAX_CERTIFICATE_BYTES = 64 * 1024;
const MAX_TYPE_LENGTH = 320;

const CertificateRequest = z.object({
  status: z
    .object({
      conditions: z
        .array(z.object({ type: z.string().max(MAX_TYPE_LENGTH), lastUpdateTime: ApiTime }))
        .max(MAX_CONDITIONS)
        .nullish(),
      certificate: z.string().nullish(),
    })
    .nullish(),
});

/** `null` for what is no such request, or has conditions beyond all bounds. */
export function readCertificateRequest(value: unknown): CertificateRequestFacts | null {
  const parsed = CertificateRequest.safeParse(value);
  if (!parsed.success) return null;
  const { status } = parsed.data;
  return {
    of: 'CertificateSigningRequest',
    conditions: (status?.conditions ?? []).map(({ type, lastUpdateTime }) => ({
      type: type.toWellFormed(),
      updatedAtMs: lastUpdateTime,
    })),
    certificate: certificateOf(status?.certificate ?? ''),
  };
}

/** Of the first certificate (cluster L6). */
function certificateOf(base64: string): CertificateRequestFacts['certificate'] {
  if (base64 === '') return { is: 'missing' };
  if (base64.length > MAX_CERTIFICATE_BYTES) return { is: 'unreadable' };
  try {
    const notAfterMs = Date.parse(new X509Certificate(Buffer.from(base64, 'base64')).validTo);
    return Number.isSafeInteger(notAfterMs) ? { is: 'there', notAfterMs } : { is: 'unreadable' };
  } catch {
    return { is: 'unreadable' };
  }
}

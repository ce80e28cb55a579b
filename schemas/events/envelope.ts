import { z } from 'zod';

/**
 * CloudEvents 1.0 in Kafka's binary mode: the attributes are headers, the data is the value. Headers are copies for
 * routing: what a safety check reads stands in the value, and the two must agree.
 */
export const EnvelopeHeaders = z.object({
  ce_specversion: z.literal('1.0'),
  /** Equal to the value's `id`. */
  ce_id: z.string().min(1),
  /** `<type>.v<version>` of the value. */
  ce_type: z.string().min(1),
  /** Who published: `/fleetgc/<service>` or `/fleetgc/<cluster>/<node>`. */
  ce_source: z.string().min(1),
  /** The record key; missing where that is no text that CloudEvents takes for an attribute. */
  ce_subject: z.string().min(1).optional(),
  ce_time: z.string(),
  'content-type': z.literal('application/json'),
  /** W3C trace context, passed on from input to output. */
  traceparent: z
    .string()
    .regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/)
    .optional(),
  tracestate: z.string().optional(),
  /** Of signed messages: the key, its Ed25519 signature in base64, and a number that only grows for what stays in force. */
  ce_fleetgckeyid: z.string().optional(),
  ce_fleetgcsignature: z.string().optional(),
  ce_fleetgcgeneration: z.string().optional(),
  /** Of decisions whose writer signs heads: its chain, and their number in it, by partition. */
  ce_fleetgcchain: z.string().optional(),
  ce_fleetgcsequence: z.string().optional(),
});
export type EnvelopeHeaders = z.infer<typeof EnvelopeHeaders>;

export const eventType = ({ type, version }: { readonly type: string; readonly version: number }): string =>
  `${type}.v${version}`;

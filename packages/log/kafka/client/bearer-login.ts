import type { Mechanism } from 'kafkajs';
import { FleetGcError } from '../../../process/errors.ts';
import type { TokenProvider } from './tokens.ts';

/** What the message consists of is parted by it (RFC 7628, 3.1). */
const SEPARATOR = '\u0001';

/**
 * Logs in with a token. kafkajs's own way does not look at what the broker answers: it takes a refused token for a good one, and what
 * it sends next ends the connection without a word about tokens.
 */
export const bearerLogin = (token: TokenProvider): Mechanism => ({
  mechanism: 'oauthbearer',
  authenticationProvider: ({ saslAuthenticate }) => ({
    authenticate: async () => {
      const message = `n,,${SEPARATOR}auth=Bearer ${await token()}${SEPARATOR}${SEPARATOR}`;
      await saslAuthenticate({
        request: { encode: () => sized(Buffer.from(message)) },
        response: { decode: contentOf, parse: requireAccepted },
      });
    },
  }),
});

/** In Kafka's encoding: the length, then the bytes. */
function sized(bytes: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeInt32BE(bytes.length);
  return Buffer.concat([size, bytes]);
}

const contentOf = (bytes: Buffer): Buffer => bytes.subarray(4);

/** A broker that lets in answers nothing, one that does not says why. It is not tried again with the same token. */
function requireAccepted(answer: Buffer): void {
  if (answer.length === 0) return;
  const status = /"status"\s*:\s*"(\w+)"/.exec(answer.toString('utf8'))?.[1] ?? 'no reason given';
  const refusal = new FleetGcError(
    'LOG_UNAUTHORIZED',
    `The brokers refuse the token (${status}): it has ended, or is not meant for them.`,
  );
  throw Object.assign(refusal, { retriable: false });
}

import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export const ISSUER = 'https://tokens.example';
export const AUDIENCE = 'kafka';
const KEY_ID = 'test-key';

export interface TokenOptions {
  readonly subject: string;
  /** Ended before now where it is negative. */
  readonly validSeconds: number;
  readonly audience?: string;
}

/** Signs tokens (JWT, RS256) with a key of its own. */
export interface TokenSigner {
  /** The public half, as brokers want it. */
  readonly jwks: string;
  token(options: TokenOptions): string;
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export function createTokenSigner(): TokenSigner {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: KEY_ID, alg: 'RS256', use: 'sig' };
  return {
    jwks: JSON.stringify({ keys: [jwk] }),
    token: ({ subject, validSeconds, audience = AUDIENCE }) => {
      const now = Math.floor(Date.now() / 1000);
      const times = { iat: now + Math.min(validSeconds - 1, 0), exp: now + validSeconds };
      const claims = { iss: ISSUER, sub: subject, aud: audience, jti: randomUUID(), ...times };
      const text = `${encoded({ alg: 'RS256', kid: KEY_ID, typ: 'JWT' })}.${encoded(claims)}`;
      return `${text}.${sign('RSA-SHA256', Buffer.from(text), privateKey).toString('base64url')}`;
    },
  };
}

interface TokenServerOptions {
  readonly signer: TokenSigner;
  readonly keyFile: string;
  readonly certificateFile: string;
  readonly clientId: string;
  readonly secret: string;
  readonly validSeconds: number;
}

/** Gives a client tokens in its own name, for its secret. */
export interface TokenServer extends AsyncDisposable {
  readonly url: string;
  /** How many it gave. */
  readonly given: () => number;
}

export async function startTokenServer(options: TokenServerOptions): Promise<TokenServer> {
  const { signer, clientId, secret, validSeconds } = options;
  const known = `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`;
  let given = 0;
  const server = createServer(
    { key: readFileSync(options.keyFile), cert: readFileSync(options.certificateFile) },
    (request, response) => {
      request.resume();
      if (request.headers.authorization !== known) return response.writeHead(401).end('{}');
      given += 1;
      const token = signer.token({ subject: clientId, validSeconds });
      const answer = { access_token: token, token_type: 'Bearer', expires_in: validSeconds };
      return response.end(JSON.stringify(answer));
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}/token`,
    given: () => given,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

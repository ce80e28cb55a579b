import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toEventLogError } from '../../../../packages/log/kafka/client/errors.ts';
import {
  bearerLogin,
  issuedTokens,
  secretsOf,
  tokenProvider,
} from '../../../../packages/log/kafka/client/options.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const CREDENTIALS = {
  from: 'client-credentials',
  url: 'https://127.0.0.1:1/token',
  clientId: 'deciders',
  secretFile: '/nowhere/secret',
} as const;

const tokenFile = (text: string): { readonly from: 'file'; readonly path: string } => {
  const path = join(temporaryDirectory(), 'token');
  writeFileSync(path, text);
  return { from: 'file', path };
};

describe('a token in a file', () => {
  test('is read anew for each login, and tried again while it is away', async () => {
    const token = tokenFile('first.token\n');
    const provider = tokenProvider(token);
    expect(await provider()).toBe('first.token');
    writeFileSync(token.path, 'second.token');
    expect(await provider()).toBe('second.token');
    rmSync(token.path);
    await expect(provider()).rejects.toMatchObject({ code: 'LOG_UNREACHABLE', retry: true });
  });

  test.each(['', '\n', 'two words', 'a\u0001b'])('%j is none', async (text) => {
    await expect(tokenProvider(tokenFile(text))()).rejects.toMatchObject({
      message: expect.stringMatching(/^The token file for Kafka, .+, holds no token\.$/),
    });
  });

  test('a new one is no reason to make connections anew; one that is not there is told at the start', () => {
    const token = tokenFile('first');
    const sasl = { mechanism: 'oauthbearer', token } as const;
    const before = secretsOf({ sasl });
    writeFileSync(token.path, 'second');
    expect(secretsOf({ sasl })).toBe(before);
    rmSync(token.path);
    expect(() => secretsOf({ sasl })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});

describe('tokens that are asked for', () => {
  function provided(lifeMs: number) {
    let [nowMs, asked] = [0, 0];
    const ask = async () => ({ token: `token-${++asked}`, lifeMs });
    const provider = issuedTokens(CREDENTIALS, { ask, monotonicNow: () => nowMs });
    const at = (ms: number): Promise<string> => {
      nowMs = ms;
      return provider();
    };
    return { at, asked: () => asked };
  }

  test.each([
    { lifeMs: 3_600_000, lastMs: 2_879_999 },
    { lifeMs: 60_000, lastMs: 44_999 },
  ])('are used until a fifth or a quarter minute is left: $lifeMs ms', async ({ lifeMs, lastMs }) => {
    const { at } = provided(lifeMs);
    expect(await at(0)).toBe('token-1');
    expect(await at(lastMs)).toBe('token-1');
    expect(await at(lastMs + 1)).toBe('token-2');
  });

  test('are used once where nobody says how long they live, or not for long', async () => {
    const { at } = provided(0);
    expect([await at(0), await at(0)]).toEqual(['token-1', 'token-2']);
  });

  test('are shared by all that wait', async () => {
    const { at, asked } = provided(60_000);
    expect(await Promise.all([at(0), at(0), at(0)])).toEqual(['token-1', 'token-1', 'token-1']);
    expect(asked()).toBe(1);
  });

  test('a server that cannot be reached is asked again, and a secret that cannot be read is told', async () => {
    const secretFile = tokenFile('secret').path;
    await expect(tokenProvider({ ...CREDENTIALS, secretFile })()).rejects.toMatchObject({
      code: 'LOG_UNREACHABLE',
      message: expect.stringMatching(/^The token server https:.+ gives no token: .*ECONNREFUSED/),
    });
    await expect(tokenProvider(CREDENTIALS)()).rejects.toThrow('/nowhere/secret');
  });
});

describe('a login', () => {
  const login = async (answer: string): Promise<string> => {
    let sent = '';
    const { authenticationProvider } = bearerLogin(async () => 'a.b.c');
    const silent = () => undefined;
    await authenticationProvider({
      host: 'kafka',
      port: 9092,
      logger: {
        info: silent,
        warn: silent,
        error: silent,
        debug: silent,
        namespace: () => {
          throw new Error('not used');
        },
        setLogLevel: silent,
      },
      saslAuthenticate: async ({ request, response }) => {
        const bytes = await request.encode();
        expect(bytes.readInt32BE(0)).toBe(bytes.length - 4);
        sent = bytes.toString('utf8', 4);
        return response?.parse(await response.decode(Buffer.from(`\0\0\0\0${answer}`)));
      },
    }).authenticate();
    return sent;
  };

  test('carries the token as RFC 7628 says', async () => {
    expect(await login('')).toBe('n,,\u0001auth=Bearer a.b.c\u0001\u0001');
  });

  test('that is refused says so, though kafkajs itself would go on', async () => {
    const refused = await login('{"status":"invalid_token"}').catch((error: unknown) => error);
    expect(refused).toMatchObject({ retriable: false });
    expect(toEventLogError(['kafka:9092'], new Error('wrapped', { cause: refused }))).toMatchObject({
      code: 'LOG_UNAUTHORIZED',
      message: 'The brokers refuse the token (invalid_token): it has ended, or is not meant for them.',
    });
  });
});

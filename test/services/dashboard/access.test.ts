import { describe, expect, test } from 'vitest';
import { holderOfToken } from '../../../packages/process/token-file.ts';
import {
  Access,
  type AccessSettings,
  type Asking,
  accessWarnings,
  requireHttps,
  requireSignIn,
} from '../../../services/dashboard/access/access.ts';
import { readTokens, Sessions } from '../../../services/dashboard/access/sessions.ts';

const TOKEN = 'a'.repeat(40);
const OTHER = 'b'.repeat(40);
const HOLDERS = readTokens('tokens', `# people\noperator ann ${TOKEN}\n\nviewer bob ${OTHER}\n`);
const NOW = 1_000_000;

const settings = (over: Partial<AccessSettings> = {}): AccessSettings => ({
  address: { host: '127.0.0.1', port: 9660 },
  tokens: [],
  trustedProxies: [],
  userHeader: 'x-forwarded-user',
  operators: ['root'],
  publicUrl: null,
  ...over,
});

const asking = (headers: Asking['headers'] = {}, over: Partial<Asking> = {}): Asking => ({
  method: 'GET',
  headers: { host: '127.0.0.1:9660', ...headers },
  remoteAddress: '10.0.0.9',
  ...over,
});

describe('the file of tokens', () => {
  test.each([
    { text: `viewer ann short`, says: 'a token has 32 to 512 characters' },
    { text: `admin ann ${TOKEN}`, says: 'the role is viewer or operator' },
    { text: `viewer ann`, says: 'a line is ROLE NAME TOKEN' },
    { text: `viewer ann ${TOKEN}\nviewer ann ${OTHER}`, says: 'ann has two tokens' },
    { text: '# nobody\n', says: 'it has no token' },
  ])('$says', ({ text, says }) => {
    expect(() => readTokens('tokens', text)).toThrow(says);
  });

  test('tells who has a token, and keeps none', () => {
    expect(holderOfToken(HOLDERS, TOKEN)).toMatchObject({ name: 'ann', role: 'operator' });
    expect(holderOfToken(HOLDERS, `${TOKEN}x`)).toBeNull();
    expect(holderOfToken(HOLDERS, 'x'.repeat(100_000))).toBeNull();
    expect(JSON.stringify(HOLDERS)).not.toContain(TOKEN);
  });
});

describe('who can look without signing in', () => {
  test.each(['0.0.0.0', '::', '10.1.2.3', 'gc.example'])('nobody where %s is served', (host) => {
    expect(() => requireSignIn(settings({ address: { host, port: 9660 } }))).toThrow(
      'nobody would have to sign in',
    );
    expect(() => requireSignIn(settings({ address: { host, port: 9660 }, tokens: HOLDERS }))).not.toThrow();
  });

  test.each(['127.0.0.1', '::1', 'localhost'])('this machine at %s', (host) => {
    const own = settings({ address: { host, port: 9660 } });
    expect(() => requireSignIn(own)).not.toThrow();
    expect(new Access(own, 0).identify(asking(), NOW)).toMatchObject({ by: 'loopback' });
  });

  test.each(['10.0.0.0/33', 'proxy', '10.0.0.1/8/8', '10.0.0.1/-1'])(
    'a proxy named %s is refused',
    (proxy) => {
      expect(() => requireSignIn(settings({ trustedProxies: [proxy] }))).toThrow('is not an address');
    },
  );
});

describe('who somebody is', () => {
  const access = new Access(settings({ tokens: HOLDERS, trustedProxies: ['10.0.0.0/24', 'fd00::/8'] }), 0);

  test('by a token', () => {
    expect(access.identify(asking({ authorization: `Bearer ${OTHER}` }), NOW)).toEqual({
      name: 'bob',
      role: 'viewer',
      by: 'token',
    });
    expect(access.identify(asking({ authorization: 'Bearer nobody' }), NOW)).toBeNull();
    expect(access.identify(asking({ authorization: `Basic ${OTHER}` }), NOW)).toBeNull();
  });

  test('a wrong token is not made good by a proxy', () => {
    expect(
      access.identify(asking({ authorization: 'Bearer nobody', 'x-forwarded-user': 'eve' }), NOW),
    ).toBeNull();
  });

  test.each([
    { remoteAddress: '10.0.0.9', user: 'root', is: { name: 'root', role: 'operator', by: 'proxy' } },
    { remoteAddress: '::ffff:10.0.0.9', user: 'eve', is: { name: 'eve', role: 'viewer', by: 'proxy' } },
    { remoteAddress: 'fd00::1', user: 'eve', is: { name: 'eve', role: 'viewer', by: 'proxy' } },
    { remoteAddress: '10.0.1.9', user: 'root', is: null },
    { remoteAddress: '', user: 'root', is: null },
    { remoteAddress: '10.0.0.9', user: '', is: null },
    { remoteAddress: '10.0.0.9', user: 'x'.repeat(201), is: null },
  ])('by the header $user from $remoteAddress', ({ remoteAddress, user, is }) => {
    expect(access.identify(asking({ 'x-forwarded-user': user }, { remoteAddress }), NOW)).toEqual(is);
  });
});

describe('a session', () => {
  const [ann] = HOLDERS;
  if (ann === undefined) throw new Error('nobody');
  const replica = ({ isSecure = false, startedMs = 0 } = {}) => new Sessions({ isSecure, startedMs });
  const begun = (sessions: Sessions, nowMs = NOW): string => sessions.begin(ann, nowMs).split(';')[0] ?? '';
  const cookie = begun(replica());

  test('is known until it ends, by every replica, and not by another token', () => {
    expect(replica().holderOf(HOLDERS, `theme=dark; ${cookie}`, NOW)).toBe(ann);
    expect(replica().holderOf(HOLDERS, cookie, NOW + 13 * 3_600_000)).toBeNull();
    expect(replica().holderOf(readTokens('tokens', `operator ann ${OTHER}`), cookie, NOW)).toBeNull();
  });

  test('is told to nobody else, and where there is TLS by TLS alone and to no other name', () => {
    expect(replica().begin(ann, NOW)).toMatch(/^fleetgc_session=.*; Path=\/;.*; HttpOnly; SameSite=Strict$/);
    const secure = replica({ isSecure: true });
    expect(secure.begin(ann, NOW)).toMatch(
      /^__Host-fleetgc_session=[^;]*; Path=\/; [^;]*; HttpOnly; SameSite=Strict; Secure$/,
    );
    expect(secure.end(HOLDERS, undefined, NOW)).toMatch(/^__Host-fleetgc_session=; .*Max-Age=0.*; Secure$/);
    expect(secure.holderOf(HOLDERS, begun(secure), NOW)).toBe(ann);
    expect(secure.holderOf(HOLDERS, cookie, NOW)).toBeNull();
  });

  test('has ended for whoever has its cookie once somebody signed out, and a new one begins at once', () => {
    const sessions = replica();
    const [first, second] = [begun(sessions), begun(sessions, NOW + 1)];
    sessions.end(HOLDERS, first.replace(/.$/, '!'), NOW + 2);
    expect(sessions.holderOf(HOLDERS, first, NOW + 2)).toBe(ann);
    sessions.end(HOLDERS, first, NOW + 2);
    for (const ended of [first, second]) expect(sessions.holderOf(HOLDERS, ended, NOW + 2)).toBeNull();
    expect(sessions.holderOf(HOLDERS, begun(sessions, NOW + 2), NOW + 2)).toBe(ann);
  });

  test('that began before the process did has ended, since nobody knows whether somebody signed out', () => {
    expect(replica({ startedMs: NOW + 1 }).holderOf(HOLDERS, cookie, NOW + 2)).toBeNull();
    expect(replica({ startedMs: NOW }).holderOf(HOLDERS, cookie, NOW + 2)).toBe(ann);
  });

  test.each([
    undefined,
    '',
    'fleetgc_session=',
    'fleetgc_session=ann',
    'fleetgc_session=ann~99999999999~',
    'fleetgc_session=ann~1e99~AAAA',
    cookie.replace('ann', 'bob'),
    cookie.replace(/~\d+~/, '~9999999999999~'),
    `${cookie}~more`,
    `fleetgc_session=${'x'.repeat(10_000)}`,
  ])('%s is none', (header) => {
    expect(replica().holderOf(HOLDERS, header, NOW)).toBeNull();
  });
});

describe('whoever acts by a session', () => {
  const tokens = HOLDERS;
  const everywhere = { host: '0.0.0.0', port: 9660 };

  test.each<Partial<AccessSettings>>([
    { tokens, address: everywhere },
    { tokens, address: everywhere, publicUrl: new URL('http://gc.example') },
    { tokens, address: everywhere, publicUrl: new URL('http://127.0.0.1:9660') },
    { tokens, publicUrl: new URL('http://gc.example') },
    { tokens, trustedProxies: ['10.0.0.9'], address: everywhere },
  ])('needs TLS: %o', (over) => {
    expect(() => requireHttps(settings(over))).toThrow('needs --public-url https://');
    expect(accessWarnings(settings(over))).toEqual([expect.stringContaining('people sign in without TLS')]);
  });

  test.each<Partial<AccessSettings>>([
    { tokens },
    { tokens, publicUrl: new URL('http://localhost:9660') },
    { tokens, publicUrl: new URL('http://[::1]:9660') },
    { tokens, address: everywhere, publicUrl: new URL('https://gc.example') },
    { trustedProxies: ['10.0.0.9'], address: everywhere },
  ])('has it, or needs none: %o', (over) => {
    expect(() => requireHttps(settings(over))).not.toThrow();
    expect(accessWarnings(settings(over))).toEqual([]);
  });
});

test.each(['127.0.0.1', '127.0.0.5', '::1', '127.0.0.0/8', '0.0.0.0/0', '::/0'])(
  'whoever trusts %s trusts whatever runs there, and is told so',
  (proxy) => {
    expect(accessWarnings(settings({ trustedProxies: ['10.0.0.9', proxy] }))).toEqual([
      expect.stringContaining('--trusted-proxy names this machine'),
    ]);
  },
);

describe('which requests are looked at', () => {
  const access = new Access(settings({ publicUrl: new URL('https://gc.example') }), 0);

  test.each([
    asking(),
    asking({ host: 'localhost:9660' }),
    asking({ host: '[::1]:9660' }),
    asking({ host: 'GC.example' }),
    asking({ origin: 'https://gc.example' }),
    asking({ origin: 'http://localhost:9660' }, { method: 'POST' }),
    asking({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }),
  ])('%o', (request) => {
    expect(access.objection(request)).toBeNull();
  });

  test.each([
    asking({ host: 'evil.example' }),
    asking({ host: undefined }),
    asking({ host: '127.0.0.1' }),
    asking({ host: 'gc.example.evil.example' }),
    asking({ origin: 'https://evil.example' }),
    asking({ origin: 'null' }),
    asking({ origin: 'http://gc.example' }),
    asking({}, { method: 'POST' }),
    asking({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }),
  ])('not %o', (request) => {
    expect(access.objection(request)).toEqual(expect.any(String));
  });
});

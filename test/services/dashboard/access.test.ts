import { describe, expect, test } from 'vitest';
import {
  Access,
  type AccessSettings,
  type Asking,
  requireSignIn,
} from '../../../services/dashboard/access/access.ts';
import { holderOfToken, readTokens } from '../../../services/dashboard/access/people.ts';
import { holderOfCookie, sessionCookie } from '../../../services/dashboard/access/session-cookie.ts';

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
    expect(new Access(own).identify(asking(), NOW)).toMatchObject({ by: 'loopback' });
  });

  test.each(['10.0.0.0/33', 'proxy', '10.0.0.1/8/8', '10.0.0.1/-1'])(
    'a proxy named %s is refused',
    (proxy) => {
      expect(() => requireSignIn(settings({ trustedProxies: [proxy] }))).toThrow('is no address');
    },
  );
});

describe('who somebody is', () => {
  const access = new Access(settings({ tokens: HOLDERS, trustedProxies: ['10.0.0.0/24', 'fd00::/8'] }));

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
  const cookie = sessionCookie(ann, NOW, false).split(';')[0] ?? '';

  test('is known until it ends, by every replica, and not by another token', () => {
    expect(holderOfCookie(HOLDERS, `theme=dark; ${cookie}`, NOW)).toBe(ann);
    expect(holderOfCookie(HOLDERS, cookie, NOW + 13 * 3_600_000)).toBeNull();
    expect(holderOfCookie(readTokens('tokens', `operator ann ${OTHER}`), cookie, NOW)).toBeNull();
  });

  test('is told to nobody else, and not over an open line where there is another', () => {
    expect(sessionCookie(ann, NOW, false)).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect(sessionCookie(ann, NOW, true)).toMatch(/; HttpOnly; SameSite=Strict; Secure$/);
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
    expect(holderOfCookie(HOLDERS, header, NOW)).toBeNull();
  });
});

describe('which requests are looked at', () => {
  const access = new Access(settings({ publicUrl: new URL('https://gc.example') }));

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

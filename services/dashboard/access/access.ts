import type { IncomingHttpHeaders } from 'node:http';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { ProxyList } from '../../../packages/process/http-server.ts';
import type { Address } from '../../../packages/process/options/options.ts';
import { holderOfToken } from '../../../packages/process/token-file.ts';
import type { DashboardRole, DashboardSession } from '../../../schemas/reports/dashboard.ts';
import { type Person, Sessions, type TokenHolder } from './sessions.ts';

/** Who may look, and how they are known. */
export interface AccessSettings {
  readonly address: Address;
  readonly tokens: readonly TokenHolder[];
  /** Addresses, or networks as in `10.0.0.0/8`, whose word for who somebody is counts. */
  readonly trustedProxies: readonly string[];
  /** In lower case. */
  readonly userHeader: string;
  /** Of those whom a proxy names; the others are viewers. */
  readonly operators: readonly string[];
  /** Where people find the page, when that is not where it is served. */
  readonly publicUrl: URL | null;
}

/** What is known of a request before anybody looks at what it wants. */
export interface Asking {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string;
}

export interface Identified extends Person {
  readonly by: DashboardSession['by'];
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);
const MOST_NAME_LENGTH = 200;

const isOpen = ({ tokens, trustedProxies }: Pick<AccessSettings, 'tokens' | 'trustedProxies'>): boolean =>
  tokens.length === 0 && trustedProxies.length === 0;

/** Throws `CONFIG_INVALID` where anybody on the network could look. To be asked before anything is served. */
export function requireSignIn(settings: AccessSettings): void {
  const { address } = settings;
  if (isOpen(settings) && !LOOPBACK.has(address.host)) throw needsSignIn(address);
  trustedProxyList(settings.trustedProxies);
}

/** Throws `CONFIG_INVALID` where whoever acts would have no name: whoever has a login on this machine could. */
export function requireNames(settings: AccessSettings): void {
  if (isOpen(settings))
    throw new FleetGcError(
      'CONFIG_INVALID',
      '--allow-actions needs --token-file or --trusted-proxy: every action says who did it, and every user of this machine could act',
    );
}

/**
 * Throws `CONFIG_INVALID` where the session of somebody who may act would go over an open line. A browser gives a cookie without TLS to
 * every port of its host.
 */
export function requireHttps(settings: AccessSettings): void {
  if (hasOpenSessions(settings))
    throw new FleetGcError(
      'CONFIG_INVALID',
      '--allow-actions with --token-file needs --public-url https://…: without TLS, tokens and sessions of operators can be read on their way, and a browser gives a session to every port of the host. Put a proxy that speaks TLS before the dashboard and name the address that people type, or serve 127.0.0.1 alone',
    );
}

/** What is risky and goes on, in sentences for the log. */
export const accessWarnings = (settings: AccessSettings): readonly string[] => [
  ...(hasOpenSessions(settings)
    ? [
        'people sign in without TLS: tokens and sessions can be read on their way; name an address with https by --public-url',
      ]
    : []),
  ...(trustsItsMachine(settings)
    ? [
        '--trusted-proxy names this machine: whatever runs here can say to be anybody; use --token-file, or run the proxy elsewhere',
      ]
    : []),
];

function hasOpenSessions({ tokens, publicUrl, address }: AccessSettings): boolean {
  if (tokens.length === 0 || publicUrl?.protocol === 'https:') return false;
  return (
    !LOOPBACK.has(address.host) || (publicUrl !== null && !LOOPBACK.has(unbracketed(publicUrl.hostname)))
  );
}

function trustsItsMachine({ trustedProxies }: AccessSettings): boolean {
  const list = trustedProxyList(trustedProxies);
  return (
    trustedProxies.some((written) => written.startsWith('127.')) ||
    ['127.0.0.1', '::1'].some((address) => list.has(address))
  );
}

/** Says of each request whether it may be looked at, and whose it is. */
export class Access {
  readonly #settings: AccessSettings;
  readonly #proxies: ProxyList;
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;
  readonly #isOpen: boolean;
  readonly #sessions: Sessions;

  /** `settings.address` is the one that is served; sessions that began before `startedMs` have ended. */
  constructor(settings: AccessSettings, startedMs: number) {
    const { address, tokens, trustedProxies, publicUrl } = settings;
    this.#settings = settings;
    this.#sessions = new Sessions({ isSecure: publicUrl?.protocol === 'https:', startedMs });
    this.#isOpen = isOpen({ tokens, trustedProxies });
    this.#proxies = trustedProxyList(trustedProxies);
    const names = [...LOOPBACK, address.host].map((host) => `${bracketed(host)}:${address.port}`);
    this.#hosts = new Set([...names, ...(publicUrl === null ? [] : [publicUrl.host])]);
    this.#origins = new Set([
      ...names.map((name) => `http://${name}`),
      ...(publicUrl === null ? [] : [publicUrl.origin]),
    ]);
  }

  /** Nobody has to sign in: it is served to its own machine alone. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whose token this is, and the cookie by which they are known from now on; `null`: nobody's. */
  signIn(token: string, nowMs: number): { readonly person: Person; readonly cookie: string } | null {
    const holder = holderOfToken(this.#settings.tokens, token);
    if (holder === null) return null;
    const { name, role } = holder;
    return { person: { name, role }, cookie: this.#sessions.begin(holder, nowMs) };
  }

  /** Ends the sessions of whoever asks. The cookie that takes the place of theirs. */
  signOut({ headers }: Asking, nowMs: number): string {
    return this.#sessions.end(this.#settings.tokens, headers.cookie, nowMs);
  }

  /** Why a request is not looked at, in a sentence; `null` when it is. */
  objection({ method, headers }: Asking): string | null {
    if (!this.#hosts.has(headers.host?.toLowerCase() ?? ''))
      return 'this is not the address of the page: name it with --public-url where people come by another';
    const { origin } = headers;
    if (origin !== undefined && !this.#origins.has(origin)) return 'other pages may not ask';
    const isChange = method !== 'GET' && method !== 'HEAD';
    if (isChange && origin === undefined) return 'a change has to say from which page it comes';
    if (headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate')
      return 'other pages may not ask';
    return null;
  }

  /**
   * The same for what the API is asked: no other page may ask, not even in a frame or by a link, since a question may make the
   * dashboard work. A browser says where a request comes from, a program does not.
   */
  objectionToAsking(asking: Asking): string | null {
    const site = asking.headers['sec-fetch-site'];
    const isOwn = site === undefined || site === 'same-origin' || site === 'none';
    return this.objection(asking) ?? (isOwn ? null : 'other pages may not ask');
  }

  /**
   * The same for what changes something: it has to come from the very page that is served, and not only from one of its addresses. A
   * program says the origin too.
   */
  objectionToActing(asking: Asking): string | null {
    const { headers } = asking;
    const { origin } = headers;
    const isOwn =
      origin !== undefined &&
      (origin === this.#settings.publicUrl?.origin || origin === `http://${headers.host?.toLowerCase()}`);
    const site = headers['sec-fetch-site'];
    return (
      this.objection(asking) ??
      (isOwn && (site === undefined || site === 'same-origin') ? null : 'other pages may not ask')
    );
  }

  /** Who asks; `null`: somebody has to sign in. */
  identify({ headers, remoteAddress }: Asking, nowMs: number): Identified | null {
    if (this.#isOpen) return { name: 'local', role: 'operator', by: 'loopback' };
    const { tokens } = this.#settings;
    const [, bearer] = /^Bearer (\S+)$/i.exec(headers.authorization ?? '') ?? [];
    if (bearer !== undefined) return known(holderOfToken(tokens, bearer));
    return (
      known(this.#sessions.holderOf(tokens, headers.cookie, nowMs)) ?? this.#named(headers, remoteAddress)
    );
  }

  /** By a proxy that is trusted; what others say of themselves counts for nothing. */
  #named(headers: IncomingHttpHeaders, remoteAddress: string): Identified | null {
    const { userHeader, operators } = this.#settings;
    const name = headers[userHeader];
    if (typeof name !== 'string' || name === '' || name.length > MOST_NAME_LENGTH) return null;
    if (!this.#proxies.has(remoteAddress)) return null;
    return { name, role: operators.includes(name) ? 'operator' : 'viewer', by: 'proxy' };
  }
}

const known = (holder: TokenHolder | null): Identified | null =>
  holder === null ? null : { name: holder.name, role: holder.role, by: 'token' };

/** Tells people apart who have the same name, and come by different ways. */
export const personKey = ({ name, by }: Pick<Identified, 'name' | 'by'>): string =>
  JSON.stringify([name, by]);

/** Operators may what viewers may. */
export const mayDo = (has: DashboardRole, needs: DashboardRole): boolean =>
  has === needs || has === 'operator';

const unbracketed = (host: string): string => host.replace(/^\[|\]$/g, '');

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

const needsSignIn = ({ host, port }: Address): FleetGcError =>
  new FleetGcError(
    'CONFIG_INVALID',
    `${bracketed(host)}:${port} can be reached from other machines, and nobody would have to sign in: give --token-file or --trusted-proxy, or serve the page on 127.0.0.1`,
  );

/** Throws `CONFIG_INVALID`. */
export const trustedProxyList = (written: readonly string[]): ProxyList =>
  new ProxyList(written, '--trusted-proxy');

/**
 * What every answer says of how it may be used: the page loads nothing but its own files, no script stands in it, and nobody may show
 * it in a frame of theirs.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

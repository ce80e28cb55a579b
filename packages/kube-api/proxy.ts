import { BlockList, isIP } from 'node:net';
import { FleetGcError } from '../process/errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Throws `CONFIG_INVALID` where no such proxy can be used; nothing of it is told, since a password may stand in it. */
export function requireProxy(url: string, where: string): string {
  const { protocol } = URL.parse(url) ?? { protocol: '' };
  if (protocol === 'http:' || protocol === 'https:') return url;
  throw new FleetGcError(
    'CONFIG_INVALID',
    `${where} names a proxy that cannot be used: give the URL of an HTTP proxy, as http://10.0.0.1:3128 (SOCKS is not supported)`,
  );
}

/**
 * The proxy that the environment names for a server; `null` for none. As with Kubernetes' own clients: HTTPS_PROXY, HTTP_PROXY and
 * NO_PROXY, or the same in small letters, and never for this machine itself.
 */
export function proxyOfEnvironment(server: URL, environment: Environment): string | null {
  const name = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const proxy = named(environment, name);
  if (proxy === '' || isThisMachine(server)) return null;
  if (
    named(environment, 'NO_PROXY')
      .split(',')
      .some((entry) => matches(entry.trim(), server))
  )
    return null;
  return requireProxy(proxy.includes('://') ? proxy : `http://${proxy}`, name);
}

const named = (environment: Environment, name: string): string =>
  environment[name] || environment[name.toLowerCase()] || '';

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '').toLowerCase();

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

const isThisMachine = (server: URL): boolean =>
  hostOf(server) === 'localhost' || isIn(LOOPBACK, hostOf(server));

function isIn(addresses: BlockList, host: string): boolean {
  const version = isIP(host);
  return version !== 0 && addresses.check(host, version === 6 ? 'ipv6' : 'ipv4');
}

const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** An entry of NO_PROXY: `*`, an address, a network, or a domain with all below it; the last but one perhaps with a port. */
function matches(entry: string, server: URL): boolean {
  if (entry === '*') return true;
  const host = hostOf(server);
  if (entry.includes('/')) return isInNetwork(entry, host);
  const [, name = entry, port] =
    /^\[?([^[\]]*?)\]?(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? [];
  if (port !== undefined && port !== (server.port || PORTS[server.protocol])) return false;
  const domain = name.replace(/^\*?\./, '').toLowerCase();
  if (domain === '') return false;
  return (host === domain && domain === name.toLowerCase()) || host.endsWith(`.${domain}`);
}

function isInNetwork(network: string, host: string): boolean {
  const [address = '', bits = ''] = network.split('/');
  const version = isIP(address);
  const length = Number(bits);
  if (version === 0 || !/^\d+$/.test(bits) || length > (version === 6 ? 128 : 32)) return false;
  const addresses = new BlockList();
  addresses.addSubnet(address, length, version === 6 ? 'ipv6' : 'ipv4');
  return isIn(addresses, host);
}

import type { Server } from 'node:net';
import { FleetGcError } from './errors.ts';
import type { Address } from './options/options.ts';

/** What a machine without IPv6 cannot listen at; Node.js then takes every address of IPv4, if no host is named. */
const EVERY_ADDRESS = '::';

/**
 * Resolves when the server listens, to the address with the port that was given by the system when 0 was asked for. `::` is every address
 * of the machine, whatever families it has. Throws `CONFIG_INVALID`, which says what to do (`advice`), when it cannot listen.
 */
export function listen(server: Server, { host, port }: Address, advice: string): Promise<Address> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(cannotListen({ host, port }, advice, error)));
    server.listen(host === EVERY_ADDRESS ? { port } : { host, port }, () => {
      const bound = server.address();
      resolve({ host, port: typeof bound === 'object' && bound !== null ? bound.port : port });
    });
  });
}

/** As it is written: an IPv6 host in brackets. */
export const addressText = ({ host, port }: Address): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

const cannotListen = (address: Address, advice: string, cause: Error): FleetGcError =>
  new FleetGcError(
    'CONFIG_INVALID',
    `cannot listen on ${addressText(address)} (${'code' in cause ? cause.code : cause.message}); ${advice}`,
    { cause },
  );

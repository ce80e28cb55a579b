import { isIPv6, type Server, type Socket } from 'node:net';

/** How often connections are looked at that take too long. Node.js itself looks every 30 s, and until then no timeout counts. */
export const CHECK_CONNECTIONS_EVERY_MS = 1_000;

/** Ends at once what one address opens beyond `most` connections, so that nobody keeps the others out alone. */
export function limitEachAddress(
  server: Server,
  most: number,
  onRefused: () => void = () => undefined,
): void {
  const open = new Map<string, number>();
  const add = (who: string, more: 1 | -1): void => {
    const count = (open.get(who) ?? 0) + more;
    if (count === 0) open.delete(who);
    else open.set(who, count);
  };
  server.on('connection', (socket: Socket) => {
    const who = whoseAddress(socket.remoteAddress ?? '');
    if ((open.get(who) ?? 0) >= most) {
      socket.destroy();
      onRefused();
      return;
    }
    add(who, 1);
    socket.once('close', () => add(who, -1));
  });
}

/** Whoever has one address of IPv6 has all that share its first 64 bits. */
const GROUPS_OF_A_NETWORK = 4;
const GROUPS = 8;

export function whoseAddress(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [front, back] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  if (front === undefined) return address;
  const zeros = back === undefined ? 0 : GROUPS - front.length - back.length;
  const groups = [...front, ...Array.from({ length: zeros }, () => '0'), ...(back ?? [])];
  return groups.slice(0, GROUPS_OF_A_NETWORK).join(':');
}

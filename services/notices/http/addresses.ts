import { type BlockList, isIP, BlockList as List } from 'node:net';

/*
 * What a receiver may never be, whatever its name resolves to: link-local addresses, and those at which clouds tell whoever asks the
 * credentials of a machine. Loopback and private networks are where receivers of one's own live, and stay allowed.
 */

const LINK_LOCAL_4: readonly [string, number] = ['169.254.0.0', 16];
const LINK_LOCAL_6: readonly [string, number] = ['fe80::', 10];
/** Metadata of clouds outside of 169.254.0.0/16. */
const METADATA_4 = ['100.100.100.200', '168.63.129.16', '192.0.0.192'];
const METADATA_6 = ['fd00:ec2::254', 'fd20:ce::254'];

const refused4 = blockList((list) => {
  list.addSubnet(...LINK_LOCAL_4, 'ipv4');
  for (const address of METADATA_4) list.addAddress(address, 'ipv4');
});
const refused6 = blockList((list) => {
  list.addSubnet(...LINK_LOCAL_6, 'ipv6');
  for (const address of METADATA_6) list.addAddress(address, 'ipv6');
});

function blockList(fill: (list: BlockList) => void): BlockList {
  const list = new List();
  fill(list);
  return list;
}

/** Whether no connection may be made to this address. What is no address is refused too. */
export function isRefusedAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return refused4.check(address, 'ipv4');
    case 6:
      return isRefused6(address);
    default:
      return true;
  }
}

function isRefused6(address: string): boolean {
  const groups = groupsOf(address);
  if (groups === null || refused6.check(withoutZone(address), 'ipv6')) return true;
  return ipv4Within(groups).some((inner) => refused4.check(inner, 'ipv4'));
}

const withoutZone = (address: string): string => address.replace(/%.*$/, '');

/** The eight groups of an address, however it is written; `null` where it has none. */
function groupsOf(address: string): readonly number[] | null {
  const url = URL.parse(`http://[${withoutZone(address)}]/`);
  if (url === null) return null;
  const [front = '', back] = url.hostname.slice(1, -1).split('::');
  const first = numbers(front);
  if (back === undefined) return first;
  const last = numbers(back);
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
}

const numbers = (text: string): readonly number[] =>
  text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));

/** Addresses of IPv4 that routers and systems find in one of IPv6: mapped, compatible, translated (NAT64), and 6to4. */
function ipv4Within(groups: readonly number[]): readonly string[] {
  const [a = 0, b = 0, c = 0] = groups;
  const last = dotted(groups[6] ?? 0, groups[7] ?? 0);
  const leading = groups.slice(0, 5);
  const isMappedOrCompatible = leading.every((group) => group === 0);
  const isTranslated = a === 0x64 && b === 0xff9b;
  return [...(isMappedOrCompatible || isTranslated ? [last] : []), ...(a === 0x2002 ? [dotted(b, c)] : [])];
}

const dotted = (high: number, low: number): string => [high >> 8, high & 255, low >> 8, low & 255].join('.');

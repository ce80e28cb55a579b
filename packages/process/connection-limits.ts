import { isIPv6 } from 'node:net';

/** How much is open of each address at once. */
export class OpenByAddress {
  readonly #most: number;
  readonly #open = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Ends what was begun when it is disposed of; `null`: the address has as much as it may. */
  begin(address: string): Disposable | null {
    const who = whoseAddress(address);
    const count = this.#open.get(who) ?? 0;
    if (count >= this.#most) return null;
    this.#open.set(who, count + 1);
    return { [Symbol.dispose]: () => this.#end(who) };
  }

  #end(who: string): void {
    const left = (this.#open.get(who) ?? 0) - 1;
    if (left > 0) this.#open.set(who, left);
    else this.#open.delete(who);
  }
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

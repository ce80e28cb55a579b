const UNITS = [
  { unit: 'h', ms: 3_600_000 },
  { unit: 'm', ms: 60_000 },
  { unit: 's', ms: 1_000 },
  { unit: 'ms', ms: 1 },
] as const;

/** In Go's form, which a policy file takes back; pretty-ms writes another, with days and spaces. 90,000 is `1m30s`. */
export function durationText(durationMs: number): string {
  let rest = Math.abs(durationMs);
  const parts = UNITS.map(({ unit, ms }) => {
    const count = Math.floor(rest / ms);
    rest -= count * ms;
    return count === 0 ? '' : `${count}${unit}`;
  }).join('');
  return parts === '' ? '0s' : `${durationMs < 0 ? '-' : ''}${parts}`;
}

const BINARY_UNITS = ['Ei', 'Pi', 'Ti', 'Gi', 'Mi', 'Ki'] as const;

/** Decimal digits in the largest binary unit without a rest: `53687091200` is `50Gi`. */
export function quantityText(digits: string): string {
  const value = BigInt(digits);
  const at = BINARY_UNITS.findIndex((_, index) => value !== 0n && value % factorOf(index) === 0n);
  return at === -1 ? digits : `${value / factorOf(at)}${BINARY_UNITS[at]}`;
}

const factorOf = (index: number): bigint => 1024n ** BigInt(BINARY_UNITS.length - index);

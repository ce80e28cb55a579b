import type { FreedSpace, FreedSums } from '../../../packages/decision/freed-space.ts';
import { sizeText } from '../../../packages/text/size-text.ts';

/** What a removal freed, as measured or not, beside what was reckoned with. */
export function freedText(freed: FreedSpace, expectedBytes: number | null): string {
  const size = expectedBytes === null ? '' : sizeText(BigInt(expectedBytes));
  if (freed.how === 'measured')
    return `${sizeText(freed.bytes)} freed on ${freed.filesystem} as measured${size && `, ${size} expected`}`;
  return `${NOT_MEASURABLE[freed.why]}${size && `; about ${size} by estimate`}`;
}

const NOT_MEASURABLE: Readonly<Record<Extract<FreedSpace, { how: 'not-measurable' }>['why'], string>> = {
  'no-reading': 'nobody could measure what it freed',
  'filled-meanwhile': 'what it freed is not measurable, since something else filled the disk meanwhile',
};

/** `57 MB`, and what could not be measured beside it, as estimated. */
export function freedSumText({ freedBytes, unmeasured, estimatedBytes }: FreedSums): string {
  const measured = sizeText(freedBytes);
  if (unmeasured === 0) return measured;
  return estimatedBytes === 0n
    ? `${measured}, and more that could not be measured`
    : `${measured}, and about ${sizeText(estimatedBytes)} that could not be measured`;
}

import { durationText } from '../../../../packages/policy/value-text.ts';
import { sizeText } from '../../../../packages/text/size-text.ts';

/** A reason as a decider recorded it, whose numbers are for machines: `864000000 ms` is told as `240h`. */
export const reasonText = (reason: string): string =>
  reason
    .replace(/\b(\d{1,15}) ms\b/g, (_, ms: string) => durationText(Number(ms)))
    .replace(/\b(\d+) bytes\b/g, (_, bytes: string) => sizeText(BigInt(bytes)));

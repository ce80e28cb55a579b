import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { MAX_RECORD_BYTES, refuseTooLarge } from '../../../packages/log/limits.ts';
import { outgoing } from './probe.ts';

test.each(['', 'acme.'])(
  'with the prefix %j a record that is too large names its topic as the brokers do',
  async (prefix) => {
    const record = outgoing({ key: 'k', value: randomBytes(MAX_RECORD_BYTES + 100_000) });
    await expect(refuseTooLarge([record], prefix)).rejects.toThrow(
      `A record for ${prefix}${record.topic} with key k is `,
    );
  },
);

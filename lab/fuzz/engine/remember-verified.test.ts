import crypto, { sign, verify } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, expect, test } from 'vitest';
import { toKeyObject } from '../../../packages/records/trust/key-pair.ts';
import { newKey } from '../../../test/fixtures/trust.ts';
import { rememberVerified } from './remember-verified.ts';

const own = { sign: crypto.sign, verify: crypto.verify };
afterEach(() => {
  Object.assign(crypto, own);
  syncBuiltinESMExports();
});

test('what is remembered of signatures is what a verification says', () => {
  const [key, other] = [newKey(), newKey()];
  const [data, changed] = [Buffer.from('signed'), Buffer.from('changed')];
  const foreign = sign(null, data, key.privateKey);
  rememberVerified();
  // The second time it is remembered.
  for (const signature of [foreign, sign(null, data, key.privateKey)])
    for (const _ of [1, 2]) {
      expect(verify(null, data, toKeyObject(key.publicKey), signature)).toBe(true);
      expect(verify(null, changed, toKeyObject(key.publicKey), signature)).toBe(false);
      expect(verify(null, data, toKeyObject(other.publicKey), signature)).toBe(false);
      expect(verify(null, data, toKeyObject(key.publicKey), Buffer.alloc(64))).toBe(false);
    }
});

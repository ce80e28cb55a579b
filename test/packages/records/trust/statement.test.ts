import { describe, expect, test } from 'vitest';
import { KeyRing } from '../../../../packages/records/trust/key-ring.ts';
import {
  certificate,
  requireEffect,
  requireRoot,
  revocation,
} from '../../../../packages/records/trust/statement.ts';
import { certified, newKey, revoked, rootsOf, SIGNED_AT_MS } from '../../../fixtures/trust.ts';

const [root, decider, stranger] = [newKey(), newKey(), newKey()];
const ringOf = (...records: readonly ReturnType<typeof certified>[]): KeyRing => {
  const ring = new KeyRing(rootsOf(root));
  for (const record of records) ring.add(record);
  return ring;
};
const SAID = {
  publicKey: Buffer.alloc(32, 7).toString('base64'),
  role: 'decider',
  clusters: ['eu'],
  name: 'a key',
  issuedAtMs: SIGNED_AT_MS,
  notAfterMs: SIGNED_AT_MS + 1,
} as const;
const REVOKED = { keyId: decider.keyId, reason: 'lost', issuedAtMs: 1, untrustedFromMs: 1 };

describe('a statement', () => {
  test('says of a key what it was asked to, under an id that follows from that', () => {
    const { id, keyId, ...rest } = certificate(SAID);
    expect(rest).toEqual({ type: 'fleetgc.key-certificate', version: 1, ...SAID });
    expect({ id, keyId }).toMatchInlineSnapshot(`
      {
        "id": "key-certificate-00e8cdf776b02a30d53309f296d07a7c",
        "keyId": "4bb06f8e4e3a7715d201d573d0aa4237",
      }
    `);
  });

  test('names nodes only where it is for some', () => {
    expect(certificate(SAID)).not.toHaveProperty('nodes');
    expect(certificate({ ...SAID, nodes: ['web-1'] })).toMatchObject({ nodes: ['web-1'] });
  });

  test('of anything else has another id', () => {
    const ids = [
      SAID,
      { ...SAID, clusters: [] },
      { ...SAID, nodes: ['web-1'] },
      { ...SAID, role: 'node' as const },
      { ...SAID, issuedAtMs: 0 },
    ].map((said) => certificate(said).id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('that takes a key back tells why and from when on', () => {
    const said = { keyId: '0'.repeat(32), reason: 'lost', issuedAtMs: 1, untrustedFromMs: 2 };
    const { id, ...rest } = revocation(said);
    expect(rest).toEqual({ type: 'fleetgc.key-revocation', version: 1, ...said });
    expect(id).toMatchInlineSnapshot(`"key-revocation-6560aa7611a1b82eb7c60eed00dde808"`);
  });
});

describe('nobody states what nobody would believe', () => {
  test('only roots state', () => {
    expect(() => requireRoot(ringOf(), root)).not.toThrow();
    expect(() => requireRoot(ringOf(certified(root, decider)), decider)).toThrow(
      expect.objectContaining({
        code: 'KEY_UNUSABLE',
        message: expect.stringContaining(`${decider.keyId} is no root of the fleet prod`),
      }),
    );
  });

  const certifies = (key: typeof decider) => certificate({ ...SAID, publicKey: key.publicKey });

  test('a key that was revoked is certified no more', () => {
    const ring = ringOf(certified(root, decider), revoked(root, decider));
    expect(() => requireEffect(ring, certifies(decider))).toThrow(
      expect.objectContaining({ code: 'KEY_UNUSABLE', message: expect.stringContaining('was revoked') }),
    );
    expect(() => requireEffect(ring, certifies(stranger))).not.toThrow();
    expect(() => requireEffect(ringOf(), certifies(decider))).not.toThrow();
  });

  test('a key that nobody certified is not revoked, and the known ones are told', () => {
    expect(() => requireEffect(ringOf(certified(root, decider)), revocation(REVOKED))).not.toThrow();
    expect(() => requireEffect(ringOf(), revocation({ ...REVOKED, keyId: root.keyId }))).not.toThrow();
    const unknown = revocation({ ...REVOKED, keyId: stranger.keyId });
    expect(() => requireEffect(ringOf(), unknown)).toThrow(
      expect.objectContaining({ code: 'NOT_FOUND', message: expect.stringMatching(/known keys: none$/) }),
    );
    expect(() => requireEffect(ringOf(certified(root, decider)), unknown)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(decider.keyId) }),
    );
  });
});

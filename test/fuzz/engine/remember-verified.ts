import crypto, { type KeyObject } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const MOST_REMEMBERED = 2_000;

/**
 * Every reader of a message verifies its signature, and that takes longer than all else that most of them do. The answer follows from
 * key, bytes and signature alone, so this process works it out once.
 */
export function rememberVerified(): void {
  const verify = crypto.verify.bind(crypto);
  const remembered = new Map<KeyObject, Map<string, boolean>>();
  let size = 0;

  function answer(data: Buffer, key: KeyObject, signature: Buffer): boolean {
    const answers = remembered.get(key) ?? new Map<string, boolean>();
    const asked = `${signature.toString('latin1')} ${data.toString('latin1')}`;
    const known = answers.get(asked);
    if (known !== undefined) return known;
    if (size >= MOST_REMEMBERED) {
      remembered.clear();
      answers.clear();
      size = 0;
    }
    const isSigned = verify(null, data, key, signature);
    remembered.set(key, answers.set(asked, isSigned));
    size += 1;
    return isSigned;
  }

  Object.assign(crypto, {
    verify: (_algorithm: null, data: Buffer, key: KeyObject, signature: Buffer) =>
      answer(data, key, signature),
  });
  syncBuiltinESMExports();
}

import crypto, { type KeyObject } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const MOST_REMEMBERED = 2_000;

/**
 * Every reader of a message verifies its signature, and that takes longer than all else that most of them do. What was signed in this
 * process is a signature of that key over those bytes and of nothing else, and need not be worked out again; of other signatures the
 * answer follows from key, bytes and signature alone, so it is worked out once.
 */
export function rememberVerified(): void {
  const verify = crypto.verify.bind(crypto);
  const sign = crypto.sign.bind(crypto);
  const made = new Remembered<string>();
  const verified = new Remembered<boolean>();

  function answer(data: Buffer, key: KeyObject, signature: Buffer): boolean {
    const asked = `${publicKeyOf(key)} ${data.toString('latin1')}`;
    const signed = signature.toString('latin1');
    const madeOver = made.get(signed);
    if (madeOver !== undefined) return madeOver === asked;
    const known = verified.get(`${signed} ${asked}`);
    return known ?? verified.add(`${signed} ${asked}`, verify(null, data, key, signature));
  }

  function signature(data: Buffer, key: KeyObject): Buffer {
    const signed = sign(null, data, key);
    made.add(signed.toString('latin1'), `${publicKeyOf(key)} ${data.toString('latin1')}`);
    return signed;
  }

  Object.assign(crypto, {
    sign: (_algorithm: null, data: Buffer, key: KeyObject) => signature(data, key),
    verify: (_algorithm: null, data: Buffer, key: KeyObject, signed: Buffer) => answer(data, key, signed),
  });
  syncBuiltinESMExports();
}

/** Forgets all when there is too much of it. */
class Remembered<Value> {
  readonly #byName = new Map<string, Value>();

  get(name: string): Value | undefined {
    return this.#byName.get(name);
  }

  add(name: string, value: Value): Value {
    if (this.#byName.size >= MOST_REMEMBERED) this.#byName.clear();
    this.#byName.set(name, value);
    return value;
  }
}

const publicKeys = new WeakMap<KeyObject, string>();

/** As text, also of a private key. */
function publicKeyOf(key: KeyObject): string {
  const known = publicKeys.get(key);
  if (known !== undefined) return known;
  const publicKey = key.type === 'private' ? crypto.createPublicKey(key) : key;
  const text = publicKey.export({ type: 'spki', format: 'der' }).toString('latin1');
  publicKeys.set(key, text);
  return text;
}

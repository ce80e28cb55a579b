import type { KeyId } from '../../../schemas/keys/key-statement.ts';
import { KEY_ID_LENGTH } from './key-pair.ts';

/** Which statement it is, whoever makes it: the certificate of a key goes by the key, its revocation by `revoked KEY`. */
export const revokedName = (keyId: KeyId): string => `revoked ${keyId}`;

/** The same of one root: `ROOT KEY` and `ROOT revoked KEY`. */
const saidName = (root: KeyId, name: string): string => `${root} ${name}`;
export const rootOfSaid = (said: string): KeyId => said.slice(0, KEY_ID_LENGTH);
export const nameOfSaid = (said: string): string => said.slice(KEY_ID_LENGTH + 1);
/** Of which key any of these names is. */
export const keyIn = (name: string): KeyId => name.slice(-KEY_ID_LENGTH);

/** The highest generation of each statement about a key. It never goes down, in whatever order statements come. */
export class StatementGenerations {
  readonly #byName = new Map<string, number>();
  readonly #bySaid = new Map<string, number>();

  note(root: KeyId, name: string, generation: number): void {
    raise(this.#byName, name, generation);
    raise(this.#bySaid, saidName(root, name), generation);
  }

  /** Whoever made them. */
  get byName(): ReadonlyMap<string, number> {
    return this.#byName;
  }

  /** Of each root apart. */
  get bySaid(): ReadonlyMap<string, number> {
    return this.#bySaid;
  }
}

const raise = (generations: Map<string, number>, name: string, generation: number): void =>
  void generations.set(name, Math.max(generation, generations.get(name) ?? 0));

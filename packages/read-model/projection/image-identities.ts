/** What is the same wherever an image lies: a fleet has each many times, and memory once. */
export interface ImageIdentity {
  readonly id: string;
  /** The same for the same id, whatever else differs. */
  readonly number: number;
  readonly name: string;
  readonly repository: string;
  readonly sizeBytes: number;
}

type Unnumbered = Omit<ImageIdentity, 'number'>;

/** What one takes beside its texts. */
const IDENTITY_BYTES = 300;

/** Each image once, and each name of a group. */
export class ImageIdentities {
  readonly #identities = new Map<string, ImageIdentity>();
  readonly #numbers = new Map<string, number>();
  readonly #names = new Map<string, string>();
  /** What they take in memory, as it is estimated. */
  bytes = 0;

  get size(): number {
    return this.#identities.size + this.#names.size;
  }

  /** All numbers of images are less. */
  get numbers(): number {
    return this.#numbers.size;
  }

  of(image: Unnumbered): ImageIdentity {
    const key = keyOf(image);
    const known = this.#identities.get(key);
    if (known !== undefined) return known;
    const numbered = { ...image, number: this.#numberOf(image.id) };
    this.#identities.set(key, numbered);
    this.bytes += bytesOf(image);
    return numbered;
  }

  nameOf(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    this.#names.set(name, name);
    this.bytes += 2 * name.length;
    return name;
  }

  /** How much more they would take with these. */
  bytesOfNew(images: readonly Unnumbered[]): number {
    return images.reduce(
      (sum, image) => (this.#identities.has(keyOf(image)) ? sum : sum + bytesOf(image)),
      0,
    );
  }

  clear(): void {
    this.#identities.clear();
    this.#numbers.clear();
    this.#names.clear();
    this.bytes = 0;
  }

  #numberOf(id: string): number {
    const number = this.#numbers.get(id) ?? this.#numbers.size;
    this.#numbers.set(id, number);
    return number;
  }
}

const keyOf = ({ id, name, sizeBytes }: Unnumbered): string => `${id} ${sizeBytes} ${name}`;

/** Its texts are there twice: they are what it is found by. */
const bytesOf = ({ id, name }: Unnumbered): number => IDENTITY_BYTES + 2 * (id.length + name.length);

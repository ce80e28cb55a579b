/** What a look at the place of a document showed. */
export type Look =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  /** Nobody can tell whether it has changed: what was read before counts until it is too old. */
  | { readonly kind: 'unreachable'; readonly why: string }
  /** It is not there, or may not be read. */
  | { readonly kind: 'missing'; readonly why: string };

/** Where a document of policies comes from. */
export interface DocumentSource {
  /** For people. */
  readonly name: string;
  /** How long a look is good for. */
  readonly everyMs: number;
  look(signal: AbortSignal): Promise<Look>;
  /** The next look shows what is there, be it unchanged or not. */
  forget(): void;
}

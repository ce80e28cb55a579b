import { sha256Hex } from '../shared/ids.ts';
import { CATALOGUE } from './catalogue.ts';
import type { RegistryImage } from './objects.ts';

/** What a pull of a reference gives; `undefined` when there is no such image. */
export type Registry = (reference: string) => RegistryImage | undefined;

const SMALLEST_BYTES = 20_000_000n;
const SPREAD_BYTES = 400_000_000n;

/** Has every image that is asked for: what it is follows from its name, its size from the catalogue where that has it. */
export const boundlessRegistry = (reference: string): RegistryImage => {
  const hash = sha256Hex(reference);
  return {
    id: `sha256:${hash}`,
    labels: {},
    digest: `sha256:${sha256Hex(hash)}`,
    sizeBytes: catalogueSize(reference) ?? SMALLEST_BYTES + (BigInt(`0x${hash.slice(0, 12)}`) % SPREAD_BYTES),
  };
};

const catalogueSize = (reference: string): bigint | undefined =>
  CATALOGUE.find(({ repository }) => reference.startsWith(`${repository}:`))?.sizeBytes;

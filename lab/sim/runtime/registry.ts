import { sha256Hex } from '../../../packages/canonical/ids.ts';
import { type Application, CATALOGUE } from './catalogue.ts';
import type { RegistryImage, SimulatedLayer } from './objects.ts';

/** What a pull of a reference gives; `undefined` when there is no such image. */
export type Registry = (reference: string) => RegistryImage | undefined;

const SMALLEST_BYTES = 20_000_000n;
const SPREAD_BYTES = 400_000_000n;

/** Part of an image that all versions of its application have in common. */
const BASE_PERCENT = 40n;

/** Has every image that is asked for: what it is follows from its name, its size from the catalogue where that has it. */
export const boundlessRegistry = (reference: string): RegistryImage => {
  const hash = sha256Hex(reference);
  const application = CATALOGUE.find(({ repository }) => reference.startsWith(`${repository}:`));
  return {
    id: `sha256:${hash}`,
    labels: {},
    digest: `sha256:${sha256Hex(hash)}`,
    sizeBytes: application?.sizeBytes ?? SMALLEST_BYTES + (BigInt(`0x${hash.slice(0, 12)}`) % SPREAD_BYTES),
    ...(application && { layers: versionLayers(application, reference) }),
  };
};

function versionLayers({ repository, sizeBytes }: Application, reference: string): SimulatedLayer[] {
  const baseBytes = (sizeBytes * BASE_PERCENT) / 100n;
  return [
    { digest: `sha256:${sha256Hex(`base of ${repository}`)}`, packedBytes: 0n, unpackedBytes: baseBytes },
    {
      digest: `sha256:${sha256Hex(`own of ${reference}`)}`,
      packedBytes: 0n,
      unpackedBytes: sizeBytes - baseBytes,
    },
  ];
}

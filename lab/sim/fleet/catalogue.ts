import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { ImageSpec, RuntimeImage } from '../../../packages/cri/port.ts';
import { HOUR_MS } from '../../../packages/process/durations.ts';
import type { InventoryLayer } from '../../../schemas/events/inventory.ts';
import { seededRandom } from '../random.ts';
import {
  type Application,
  applicationName,
  applicationNamespace,
  type ContentPiece,
  contentOf,
  pieceKey,
  type RegistryImage,
  type SimulatedLayer,
  versionOf,
} from '../runtime/objects.ts';

/** A program that a whole fleet runs, and what its releases have in common. */
export interface FleetApplication extends Application {
  /** Images of one family stand on the same layers. */
  readonly family: string;
  /** Between two releases. */
  readonly releaseEveryMs: number;
  /** When the first was released, by the clock of the fleet. */
  readonly firstReleaseMs: number;
}

/** A piece of images: the same one, however many images of a fleet have it. */
export interface CataloguePiece extends ContentPiece {
  /** As an inventory tells it. */
  readonly listed: InventoryLayer;
}

/** An image as the registry has it, and as nodes name it. */
export interface CatalogueImage extends RegistryImage {
  readonly reference: string;
  readonly repository: string;
  readonly layers: readonly SimulatedLayer[];
  readonly content: readonly CataloguePiece[];
  /** As a runtime lists it. */
  readonly listed: RuntimeImage;
  /** As containers name it. */
  readonly spec: ImageSpec;
}

/** The applications of a fleet, the most often deployed first, with their images. */
export interface Catalogue {
  readonly applications: readonly [FleetApplication, ...FleetApplication[]];
  /** The image that is deployed at a time: the newest release. */
  imageAt(application: FleetApplication, atMs: number): CatalogueImage;
  /** The image so many releases after that. */
  releasedAfter(application: FleetApplication, atMs: number, releases: number): CatalogueImage;
}

const MB = 1_000_000n;
const APPLICATIONS = 60;
const TEAMS = ['shop', 'payments', 'search', 'media', 'data', 'platform', 'mail', 'ml'] as const;
/** What the layers that a family shares take on disk, from the lowest up. */
const FAMILIES = {
  distroless: [20n * MB],
  alpine: [8n * MB, 40n * MB],
  debian: [75n * MB, 120n * MB],
  java: [75n * MB, 210n * MB],
  python: [75n * MB, 330n * MB],
  cuda: [75n * MB, 1_400n * MB],
} as const satisfies Readonly<Record<string, readonly bigint[]>>;
/** Large ones are rare. */
const FAMILY_OF_RANK = [
  'java',
  'debian',
  'python',
  'alpine',
  'distroless',
  'debian',
  'java',
  'cuda',
] as const;
/** So many releases share what an application stands on. */
const RELEASES_PER_DEPENDENCIES = 8;
const PACKED_PERCENT = 38n;

/** The same seed gives the same catalogue; `beginMs` is when the fleet begins to live. */
export function fleetCatalogue(seed: number, beginMs: number): Catalogue {
  const random = seededRandom(seed);
  const applicationAt = (rank: number): FleetApplication => {
    const team = TEAMS[rank % TEAMS.length] ?? 'shop';
    const releaseEveryMs = Math.round((12 + random() * 240) * HOUR_MS);
    return {
      repository: `registry.example/${team}/service-${String(rank).padStart(2, '0')}`,
      sizeBytes: (40n + BigInt(Math.floor(random() * 360))) * MB,
      family: FAMILY_OF_RANK[Math.floor(random() * FAMILY_OF_RANK.length)] ?? 'debian',
      releaseEveryMs,
      firstReleaseMs: beginMs - Math.round((5 + random() * 40) * releaseEveryMs),
    };
  };
  const first = applicationAt(0);
  const rest = Array.from({ length: APPLICATIONS - 1 }, (_, index) => applicationAt(index + 1));
  const images = new Map<string, CatalogueImage>();
  const releasedAfter: Catalogue['releasedAfter'] = (application, atMs, releases) => {
    const newest = Math.floor((atMs - application.firstReleaseMs) / application.releaseEveryMs);
    const release = Math.max(0, newest + releases);
    const reference = versionOf(application, release);
    const image = images.get(reference) ?? imageOf(application, release);
    images.set(reference, image);
    return image;
  };
  return {
    applications: [first, ...rest],
    imageAt: (application, atMs) => releasedAfter(application, atMs, 0),
    releasedAfter,
  };
}

function imageOf(application: FleetApplication, release: number): CatalogueImage {
  const reference = versionOf(application, release);
  const layers = layersOf(application, release);
  return catalogued({
    id: `sha256:${sha256Hex(`configuration of ${reference}`)}`,
    digest: `sha256:${sha256Hex(`manifest of ${reference}`)}`,
    reference,
    repository: application.repository,
    labels: {
      'org.opencontainers.image.title': applicationName(application),
      'org.opencontainers.image.vendor': applicationNamespace(application),
    },
    layers,
    sizeBytes: layers.reduce((sum, { packedBytes }) => sum + packedBytes, 0n),
  });
}

const pieces = new Map<string, CataloguePiece>();
const SHOWN_DIGITS = 12;

function catalogued(
  image: Omit<CatalogueImage, 'content' | 'listed' | 'spec'>,
  pinned = false,
): CatalogueImage {
  const { id, reference, repository, digest, sizeBytes } = image;
  return {
    ...image,
    content: contentOf(image).map(pieceOf),
    spec: { image: id, userSpecifiedImage: reference, imageRef: id, runtimeHandler: '' },
    listed: {
      id,
      repoTags: [reference],
      repoDigests: digest === '' ? [] : [`${repository}@${digest}`],
      sizeBytes,
      pinned,
      runtimeHandler: '',
    },
  };
}

/** Thousands of nodes hold the same few thousand pieces. */
function pieceOf(piece: ContentPiece): CataloguePiece {
  const key = pieceKey(piece);
  const { kind, digest, sizeBytes } = piece;
  const shown = digest.slice('sha256:'.length, 'sha256:'.length + SHOWN_DIGITS);
  const known = pieces.get(key) ?? {
    ...piece,
    listed: { kind, digest: shown, sizeBytes: Number(sizeBytes) },
  };
  pieces.set(key, known);
  return known;
}

/** Those of the family, what the application stands on for some releases, and what is new in each. */
function layersOf({ repository, family, sizeBytes }: FleetApplication, release: number): SimulatedLayer[] {
  const shared = Object.entries(FAMILIES).find(([name]) => name === family)?.[1] ?? [];
  const ownBytes = sizeBytes / 5n;
  return [
    ...shared.map((bytes, height) => layer(`${family} ${height}`, bytes)),
    layer(`${repository} stands on ${Math.floor(release / RELEASES_PER_DEPENDENCIES)}`, sizeBytes - ownBytes),
    layer(`${repository} ${release}`, ownBytes),
  ];
}

const layer = (name: string, unpackedBytes: bigint): SimulatedLayer => ({
  digest: `sha256:${sha256Hex(`layer ${name}`)}`,
  packedBytes: (unpackedBytes * PACKED_PERCENT) / 100n,
  unpackedBytes,
});

/** What every sandbox needs; pinned, as containerd 2 does. */
export const SANDBOX_IMAGE: CatalogueImage = catalogued(
  {
    id: `sha256:${sha256Hex('configuration of pause')}`,
    digest: `sha256:${sha256Hex('manifest of pause')}`,
    reference: 'registry.example/platform/pause:3.10',
    repository: 'registry.example/platform/pause',
    labels: {},
    sizeBytes: 320_000n,
    layers: [layer('pause', 740_000n)],
  },
  true,
);

import { createNetwork, type TestNetwork } from '../../../test/support/network.ts';
import { startRegistry } from '../../../test/support/nodes/registry.ts';
import { ALWAYS_KEPT_IMAGES, REPOSITORIES, TEAM_IMAGES } from '../node/life.ts';

/** The registry of the names in `REPOSITORIES`. */
export const REGISTRY = 'registry.example';
/** So many there are to deploy, apart from those that a policy may keep. They come again after they went. */
export const DIFFERENT_IMAGES = 24;

const SMALLEST_BYTES = 2 * 1024 * 1024;
const SPREAD_BYTES = 512 * 1024;
/** Sizes come again after so many. */
const SIZES = 6;

/** What real runtimes pull from: a registry, and the network on which they reach it. */
export interface ImageSource extends AsyncDisposable {
  readonly network: TestNetwork;
}

export async function startImageSource(): Promise<ImageSource> {
  await using starting = new AsyncDisposableStack();
  const network = starting.use(await createNetwork());
  const registry = starting.use(await startRegistry(network));
  for (const [index, [repository, tag]] of wanted().entries())
    await registry.push(repository, tag, SMALLEST_BYTES + (index % SIZES) * SPREAD_BYTES);
  const owned = starting.move();
  return { network, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const wanted = (): readonly (readonly [repository: string, tag: string])[] => [
  ...tagged(`${REPOSITORIES.always}/tool`, 0, ALWAYS_KEPT_IMAGES),
  ...tagged(`${REPOSITORIES.team}/app`, 0, TEAM_IMAGES),
  ...tagged(`${REPOSITORIES.usual}/app`, 1, DIFFERENT_IMAGES),
];

const tagged = (name: string, first: number, count: number): readonly (readonly [string, string])[] =>
  Array.from({ length: count }, (_, index) => [name.slice(`${REGISTRY}/`.length), `${first + index}`]);

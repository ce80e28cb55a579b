import { existsSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { buildDebianStandIn } from '../debian-stand-in.ts';
import { withLock } from '../lock.ts';
import { tryToPull } from '../pull.ts';
import {
  DEBIAN_IMAGE,
  DEBIAN_RELEASE,
  debianImage,
  KAFKA_IMAGE,
  KAFKA_VERSION,
  NODE_IMAGE,
  OUR_DEBIAN_RELEASE,
} from '../versions.ts';
import { buildUnlessCurrent, imageId, imageState, type Recipe } from './build-image.ts';

const LOCK_MS = 1_800_000;

const debianImages = new Map<string, Promise<void>>();

/** The public Debian image, or one of the same name made from Debian's packages. Looked for once in a process. */
export function ensureDebianImage(release = DEBIAN_RELEASE): Promise<void> {
  const ready = debianImages.get(release) ?? prepareDebianImage(release);
  debianImages.set(release, ready);
  return ready;
}

async function prepareDebianImage(release: string): Promise<void> {
  const image = debianImage(release);
  if ((await imageState(image)) !== 'missing') return;
  await withLock(`image-debian-${release}`, LOCK_MS, async () => {
    if ((await imageState(image)) !== 'missing') return;
    if (!(await tryToPull(image))) await buildDebianStandIn(release);
  });
}

/** The public Node.js image, or one of the same name with the Node.js and npm of this machine. */
export async function ensureNodeImage(): Promise<void> {
  await withLock('image-node', LOCK_MS, () => publicOrStandIn(NODE_IMAGE, OUR_DEBIAN_RELEASE, nodeRecipe));
}

/** The public Apache Kafka image, or one of the same name with Kafka from Maven Central. */
export async function ensureKafkaImage(): Promise<void> {
  await withLock('image-kafka', LOCK_MS, () => publicOrStandIn(KAFKA_IMAGE, DEBIAN_RELEASE, kafkaRecipe));
}

async function publicOrStandIn(image: string, release: string, recipe: () => Promise<Recipe>): Promise<void> {
  const state = await imageState(image);
  if (state === 'pulled-or-foreign') return;
  if (state === 'missing' && (await tryToPull(image))) return;
  await ensureDebianImage(release);
  await buildUnlessCurrent(await recipe());
}

async function nodeRecipe(): Promise<Recipe> {
  return {
    tag: NODE_IMAGE,
    folder: 'node',
    buildArguments: {},
    extraFiles: async () => ({ node: process.execPath, npm: npmFolder() }),
    dependsOn: [await imageId(debianImage(OUR_DEBIAN_RELEASE)), process.version],
  };
}

/** The folder of the npm on the path, whose program is a link to `bin/npm-cli.js` in it. */
function npmFolder(): string {
  const program = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'npm'))
    .find(existsSync);
  if (program === undefined)
    throw new Error(`the image ${NODE_IMAGE} cannot be pulled, and a stand-in needs npm on the path`);
  return dirname(dirname(realpathSync(program)));
}

async function kafkaRecipe(): Promise<Recipe> {
  return {
    tag: KAFKA_IMAGE,
    folder: 'kafka',
    buildArguments: { KAFKA_VERSION },
    dependsOn: [await imageId(DEBIAN_IMAGE)],
  };
}

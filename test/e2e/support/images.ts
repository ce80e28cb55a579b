import type { RuntimeImage } from '../../../packages/cri/port.ts';
import { PAUSE_IMAGE } from '../../support/nodes/real-node.ts';
import type { PushedImage, Registry } from '../../support/nodes/registry.ts';
import type { FleetNode } from './fleet/fleet-node.ts';

const MEBIBYTE = 1024 * 1024;

/** Images in the registry, by the names that a test gives them. */
export type NamedImages<Name extends string> = Readonly<Record<Name, PushedImage>>;

/** Pushes images of these sizes in MiB; on a node each takes twice that. `team` keeps the tests' images apart. */
export async function pushImages<Name extends string>(
  registry: Registry,
  team: string,
  mebibytes: Readonly<Record<Name, number>>,
): Promise<NamedImages<Name>> {
  const pushing: [Name, Promise<PushedImage>][] = [];
  for (const name in mebibytes)
    pushing.push([name, registry.push(`${team}/${name}`, '1', mebibytes[name] * MEBIBYTE)]);
  const pushed: Partial<Record<Name, PushedImage>> = {};
  for (const [name, image] of pushing) pushed[name] = await image;
  if (isWhole(pushed, mebibytes)) return pushed;
  throw new Error('unreachable');
}

const isWhole = <Name extends string>(
  images: Partial<NamedImages<Name>>,
  wanted: Readonly<Record<Name, unknown>>,
): images is NamedImages<Name> => Object.keys(wanted).every((name) => name in images);

/** The names of those images that are among the ids, in the order of the ids. */
export function namesOf<Name extends string>(images: NamedImages<Name>, ids: readonly string[]): Name[] {
  const names = new Map<string, Name>();
  for (const name in images) names.set(images[name].id, name);
  return ids.flatMap((id) => names.get(id) ?? []);
}

/** The image of the sandboxes of a node. */
export async function pauseImage(node: FleetNode): Promise<RuntimeImage> {
  const found = (await node.runtime.listImages()).find(({ repoTags }) => repoTags.includes(PAUSE_IMAGE));
  if (!found) throw new Error(`${PAUSE_IMAGE} is gone`);
  return found;
}

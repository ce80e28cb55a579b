import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, succeeds } from '../command.ts';
import { step } from '../progress.ts';

const INSPECT_MS = 15_000;
const BUILD_MS = 900_000;
const REMOVE_MS = 60_000;
/** Marks the images that are built here. */
const RECIPE_LABEL = 'fleetgc.recipe';
const RECIPES = import.meta.dirname;

/** How an image of ours is made: a folder beside this file, and what goes into it beside the folder's files. */
export interface Recipe {
  readonly tag: string;
  readonly folder: string;
  readonly buildArguments: Readonly<Record<string, string>>;
  /** Files and folders copied into the build context: name there -> path here. Asked only when it is built. */
  readonly extraFiles?: () => Promise<Readonly<Record<string, string>>>;
  /** What else decides the content, such as a version or the id of the base image. */
  readonly dependsOn: readonly string[];
}

export type ImageState = 'missing' | 'pulled-or-foreign' | { readonly recipe: string };

/** What stands behind an image name on this machine. */
export async function imageState(tag: string): Promise<ImageState> {
  const format = `{{index .Config.Labels "${RECIPE_LABEL}"}}`;
  return run('docker', ['image', 'inspect', '--format', format, tag], { usualMs: INSPECT_MS }).then(
    ({ stdout }) => toState(stdout.trim()),
    (error: Error) => missingOrThrow(error),
  );
}

function toState(label: string): ImageState {
  return label === '' || label === '<no value>' ? 'pulled-or-foreign' : { recipe: label };
}

function missingOrThrow(error: Error): ImageState {
  if (/no such image|not found/i.test(error.message)) return 'missing';
  throw error;
}

/** The id of an image that is there. */
export async function imageId(tag: string): Promise<string> {
  const { stdout } = await run('docker', ['image', 'inspect', '--format', '{{.Id}}', tag], {
    usualMs: INSPECT_MS,
  });
  return stdout.trim();
}

/** Builds the image unless the one of that name was built from the very same recipe. */
export async function buildUnlessCurrent(recipe: Recipe): Promise<void> {
  const wanted = recipeHash(recipe);
  const state = await imageState(recipe.tag);
  if (typeof state === 'object' && state.recipe === wanted) return;
  await step(`building the image ${recipe.tag}`, () => build(recipe, wanted));
}

async function build(recipe: Recipe, hash: string): Promise<void> {
  const context = mkdtempSync(join(tmpdir(), 'fleetgc-build-'));
  try {
    cpSync(join(RECIPES, recipe.folder), context, { recursive: true });
    for (const [name, from] of Object.entries((await recipe.extraFiles?.()) ?? {})) {
      cpSync(from, join(context, name), { recursive: true, dereference: true });
    }
    const args = Object.entries(recipe.buildArguments).flatMap(([k, v]) => ['--build-arg', `${k}=${v}`]);
    await dockerBuild(recipe.tag, hash, [...args, context]);
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}

/** `docker build`, after which the image that had the tag before is gone unless a container still uses it. */
export async function dockerBuild(tag: string, hash: string, args: readonly string[]): Promise<void> {
  const before = await imageId(tag).catch(() => null);
  await run('docker', ['build', '-t', tag, '--label', `${RECIPE_LABEL}=${hash}`, ...args], {
    usualMs: BUILD_MS,
  });
  const unchanged = before === (await imageId(tag));
  // Its parents stay: they are the cache of the next build.
  if (before !== null && !unchanged)
    await succeeds('docker', ['image', 'rm', '--no-prune', before], REMOVE_MS);
}

/** A name for the recipe's content: other files, arguments or dependencies make another. */
export function recipeHash(recipe: Recipe): string {
  const hash = createHash('sha256');
  const folder = join(RECIPES, recipe.folder);
  for (const file of readdirSync(folder).toSorted())
    hash.update(`${file}\0`).update(readFileSync(join(folder, file)));
  hash.update(JSON.stringify([recipe.buildArguments, recipe.dependsOn]));
  return hash.digest('hex').slice(0, 16);
}

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { isArray, isObject, type Json, toJson } from '../mutate/json.ts';

const DIRECTORY = join(import.meta.dirname, '..', 'corpus');

/** Inputs that are larger show nothing that smaller ones do not. */
const LARGEST_INPUT = 6_000;
/** Of one target, before it is compressed. */
const LARGEST_CORPUS = 150_000;

const MOST_LEVELS = 300;

const fileOf = (name: string): string => join(DIRECTORY, `${name}.json.zst`);

/** What was kept of earlier campaigns; nothing where there was none. */
export function keptCorpus(name: string): readonly Json[] {
  const text = contentOf(fileOf(name));
  const inputs = toJson(text === null ? [] : JSON.parse(text));
  if (isArray(inputs)) return inputs;
  throw new TypeError(`${fileOf(name)} is no list of inputs`);
}

function contentOf(file: string): string | null {
  try {
    return zstdDecompressSync(readFileSync(file)).toString('utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

/** Keeps as many as there is room for, the smallest first, in the order in which they came. */
export function keepCorpus(name: string, inputs: readonly Json[]): void {
  const sized = inputs
    .filter((input) => isWithin(input, MOST_LEVELS))
    .map((input, at) => ({ at, text: JSON.stringify(input) }));
  let room = LARGEST_CORPUS;
  const kept = sized
    .filter(({ text }) => text.length <= LARGEST_INPUT)
    .toSorted((a, b) => a.text.length - b.text.length)
    .filter(({ text }) => {
      room -= text.length;
      return room >= 0;
    })
    .toSorted((a, b) => a.at - b.at);
  writeFileSync(fileOf(name), zstdCompressSync(`[${kept.map(({ text }) => text).join(',\n')}]\n`));
}

/** Whether it has no more levels than these. */
function isWithin(value: Json, levels: number): boolean {
  if (!isArray(value) && !isObject(value)) return true;
  return levels > 0 && Object.values(value).every((one) => isWithin(one, levels - 1));
}

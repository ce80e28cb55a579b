import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { constants, gzipSync } from 'node:zlib';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { Answer } from './answer.ts';

/** The files of the page, as `npm run build` makes them. */
const FILES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

interface PageFile {
  readonly etag: string;
  readonly plain: Answer;
  /** Compressed once at the start: whoever asks may ask often, and before a sign-in. */
  readonly packed: Answer;
}

export type PageFiles = ReadonlyMap<string, PageFile>;

/** Beside the program, or where the build puts it beside the sources. */
const DIRECTORIES = [join(import.meta.dirname, 'page'), join(import.meta.dirname, '../../../dist/page')];

function directoryOf(directory: string | null): string {
  const found = (directory === null ? DIRECTORIES : [directory]).find((each) =>
    existsSync(join(each, 'page.js')),
  );
  if (found === undefined)
    throw new FleetGcError('NOT_FOUND', 'the page is not built: run "npm run build" first');
  return found;
}

/** Reads them once. Throws `NOT_FOUND` where nobody has built them. */
export function readPageFiles(directory: string | null): PageFiles {
  const found = directoryOf(directory);
  return new Map(
    Object.entries(FILES).map(([name, contentType]) => {
      const body = readFileSync(join(found, name));
      const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
      const headers = { 'content-type': contentType, 'cache-control': 'no-cache', etag };
      const plain = { status: 200, headers, body };
      const packed = {
        ...plain,
        headers: { ...headers, 'content-encoding': 'gzip' },
        body: gzipSync(body, { level: constants.Z_BEST_COMPRESSION }),
      };
      return [name, { etag, plain, packed }];
    }),
  );
}

/** Where a checkout has the sources of the page; a release has none. */
const SOURCES = join(import.meta.dirname, '../page');

/** Whether a source of the page was changed after it was built. Throws `NOT_FOUND` as `readPageFiles` does. */
export function isOlderThanItsSources(directory: string | null): boolean {
  if (directory !== null || !existsSync(join(SOURCES, 'main.tsx'))) return false;
  const builtMs = statSync(join(directoryOf(directory), 'page.js')).mtimeMs;
  return readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).some(
    (path) => statSync(join(SOURCES, path)).mtimeMs > builtMs,
  );
}

/** A view of the page has the page as its answer, whatever it is about. */
const VIEWS: readonly RegExp[] = [
  /^\/$/,
  /^\/fleet$/,
  /^\/node\/[^/]+\/[^/]+$/,
  /^\/live$/,
  /^\/clusters(\/[^/]+(\/object)?)?$/,
  /^\/policies(\/[^/]+)?$/,
  /^\/search$/,
  /^\/object\/[^/]+\/[^/]+$/,
  /^\/images$/,
  /^\/report$/,
  /^\/dead-letters$/,
  /^\/history$/,
];

/** `null` where there is no such file. */
export function pageFile(files: PageFiles, path: string, headers: IncomingHttpHeaders): Answer | null {
  const name = VIEWS.some((view) => view.test(path)) ? 'index.html' : path.slice(1);
  const file = files.get(name);
  if (file === undefined) return null;
  const { etag, plain, packed } = file;
  if (headers['if-none-match'] === etag) return { ...plain, status: 304, body: Buffer.alloc(0) };
  return takesPacked(headers) ? packed : plain;
}

export const takesPacked = (headers: IncomingHttpHeaders): boolean =>
  /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''));

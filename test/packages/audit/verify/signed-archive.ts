import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openDuckDb, sqlText } from '../../../../packages/archive/duckdb.ts';
import { chained, type ManifestContent, parseManifestLine } from '../../../../packages/archive/manifest.ts';
import { openArchiveLog } from '../../../../packages/archive/read-archive.ts';
import type { HeadSigner } from '../../../../packages/archive/sign-head.ts';
import type { ArchivePlace } from '../../../../packages/archive/store.ts';
import { verifyHeads } from '../../../../packages/audit/verify/heads.ts';
import { sha256Hex } from '../../../../packages/canonical/ids.ts';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { partitionOf } from '../../../../packages/log/partition.ts';
import type {
  LogPosition,
  LogPublisher,
  LogReader,
  LogRecord,
  OutgoingRecord,
} from '../../../../packages/log/port.ts';
import type { SigningKey } from '../../../../packages/records/trust/key-pair.ts';
import { inventory } from '../../../fixtures/inventory.ts';
import { certified, newKey, rootsOf, SIGNED_AT_MS } from '../../../fixtures/trust.ts';
import { countedIds, outgoing } from '../../../support/logs/log-record.ts';
import { madeUpPositions } from '../../../support/logs/made-up-positions.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { archived, logOf } from '../support/archives.ts';

const running = new AbortController().signal;
const DAY_MS = 86_400_000;

export const [ROOT, ARCHIVER, DECIDER] = [newKey(), newKey(), newKey()];
export const ROOTS = rootsOf(ROOT);

/** As it is published. */
export const sent = ({ topic, key, value, headers }: LogRecord): OutgoingRecord => ({
  topic,
  key: key ?? '',
  value,
  headers,
});

export const listed = (id: string, node = 'web-1'): OutgoingRecord =>
  outgoing(nodeOutput('inventory', inventory({ id, node, status: 'complete' })));

export const signerWith = (log: TestLog, key: SigningKey = ARCHIVER, nowMs = SIGNED_AT_MS): HeadSigner => ({
  log,
  roots: ROOTS,
  readKey: async () => key,
  signsFound: false,
  ids: countedIds(),
  now: () => nowMs,
});

export type TestLog = LogReader & LogPublisher;

/** A log in memory, whose clock the test sets. */
function memoryLog(records: LogRecord[] = []) {
  let nowMs = SIGNED_AT_MS;
  const append = (record: OutgoingRecord): void => {
    const partition = partitionOf(record.topic, record.key);
    const before = records.filter((other) => other.topic === record.topic && other.partition === partition);
    records.push({ ...record, partition, offset: BigInt(before.length), timestampMs: nowMs });
  };
  const publish = async (sending: readonly OutgoingRecord[]): Promise<readonly LogPosition[]> => {
    sending.forEach(append);
    return madeUpPositions(sending);
  };
  return {
    records,
    log: { ...logOf(records), publish },
    publishAt: async (timeMs: number, ...sending: readonly OutgoingRecord[]): Promise<void> => {
      nowMs = timeMs;
      await publish(sending);
    },
  };
}

let made: Promise<{ readonly directory: string; readonly records: readonly LogRecord[] }> | null = null;
const kept = mkdtempSync(join(tmpdir(), 'fleetgc-test-'));
afterAll(() => rmSync(kept, { recursive: true, force: true }));

/** A log, and an archive of it that was signed twice: pass by pass, two nodes with three inventories each. */
async function makeArchive() {
  const { log, publishAt, records } = memoryLog();
  const directory = join(kept, 'archive');
  const keys = [certified(ROOT, ARCHIVER, { role: 'archiver' }), certified(ROOT, DECIDER)].map(sent);
  await publishAt(SIGNED_AT_MS, ...keys);
  for (const pass of [1, 2]) {
    for (const node of ['web-1', 'web-2'])
      await publishAt(
        SIGNED_AT_MS + pass * DAY_MS,
        ...[1, 2, 3].map((number) => listed(`${node}-${pass}-${number}`, node)),
      );
    await archived(log, directory, { signer: signerWith(log) });
  }
  return { directory, records };
}

/** Copies for a test to go on with or to damage. */
export async function signedArchive() {
  made ??= makeArchive();
  const { directory: original, records } = await made;
  const directory = join(temporaryDirectory(), 'archive');
  cpSync(original, directory, { recursive: true });
  return { directory, ...memoryLog([...records]) };
}

interface Verifying {
  readonly living?: TestLog;
  readonly areRequired?: boolean;
  readonly roots?: typeof ROOTS;
}

/** What `verify` says of the heads of an archive, as `kind place,place`. */
export async function headsOf(
  place: ArchivePlace,
  { living, areRequired = false, roots = ROOTS }: Verifying = {},
) {
  await using archive = await openArchiveLog(place);
  const { found, heads } = await verifyHeads(
    { log: archive, lines: archive.lines, living: living ?? null, roots, areRequired, comparedFromMs: 0 },
    running,
  );
  return {
    kinds: found.deviations.first.map(({ kind }) => kind),
    gaps: found.unverified.first.map(({ kind, message }) => `${kind}: ${message}`),
    places: found.deviations.first.map(({ places }) =>
      places.map(({ topic, partition, offset }) => `${topic}/${partition}@${offset}`),
    ),
    messages: found.deviations.first.map(({ message }) => message),
    heads,
  };
}

const manifestOf = (directory: string): string => join(directory, 'manifest.jsonl');

export function linesIn(directory: string): ManifestContent[] {
  const texts = readFileSync(manifestOf(directory), 'utf8').split('\n').slice(0, -1);
  return texts.map((text) => {
    const line = parseManifestLine(text);
    if (line === null) throw new Error('not a line of a manifest');
    const { previous: _, hash: __, ...content } = line;
    return content;
  });
}

/** As somebody would who knows the form: every file is as its line says, and the lines are a chain. */
export function rechained(directory: string, lines: readonly ManifestContent[]): void {
  let previous: string | null = null;
  let text = '';
  for (const content of lines) {
    const line = chained(withOwnHash(directory, content), previous);
    previous = line.hash;
    text += `${JSON.stringify(line)}\n`;
  }
  writeFileSync(manifestOf(directory), text);
}

function withOwnHash(directory: string, content: ManifestContent): ManifestContent {
  if (content.kind !== 'file') return content;
  const bytes = readFileSync(join(directory, content.file));
  return { ...content, sha256: sha256Hex(bytes), sizeBytes: bytes.length };
}

/** The line of the last file of a topic, or of the one before it. */
export function fileLine(directory: string, topic: string, fromEnd = 1) {
  const files = linesIn(directory).filter((line) => line.kind === 'file');
  const line = files.filter((file) => file.topic === topic).at(-fromEnd);
  if (line === undefined) throw new Error('there is no such file');
  return line;
}

/** Writes a file of records anew, as this SELECT over its records says. */
export async function rewriteFile(directory: string, file: string, select: string): Promise<void> {
  await using duck = openDuckDb();
  using connection = await duck.connect();
  const path = join(directory, file);
  await connection.run(`CREATE TABLE records AS FROM read_parquet(${sqlText(path)})`);
  await connection.run(`COPY (${select}) TO ${sqlText(path)} (FORMAT parquet)`);
}

import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ManifestContent } from '../../../../packages/archive/manifest.ts';
import type { LogRecord, OutgoingRecord } from '../../../../packages/log/port.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { newTrace } from '../../../../packages/process/trace.ts';
import { createPublisher } from '../../../../packages/records/publisher.ts';
import type { SigningKey } from '../../../../packages/records/trust/key-pair.ts';
import { signerOf } from '../../../../packages/records/trust/signer.ts';
import type { ArchiveHead } from '../../../../schemas/events/head.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { certified, newKey, revoked, rootsOf, SIGNED_AT_MS } from '../../../fixtures/trust.ts';
import { countedIds } from '../../../support/logs/log-record.ts';
import { madeUpPositions } from '../../../support/logs/made-up-positions.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { archived, checked, logOf, recordsOf } from '../support/archives.ts';
import {
  ARCHIVER,
  DECIDER,
  fileLine,
  headsOf,
  linesIn,
  listed,
  ROOT,
  ROOTS,
  rechained,
  rewriteFile,
  sent,
  signedArchive,
  signerWith,
  type TestLog,
} from './signed-archive.ts';

const INVENTORY = TOPICS.inventory.name;
const DAY_MS = 86_400_000;

test('what nobody touched is as it was signed, and the archive alone proves it', async () => {
  const { log, directory } = await signedArchive();
  const lines = linesIn(directory).length;
  expect(await headsOf(directory)).toMatchObject({
    kinds: [],
    heads: { archive: { lines, provedLines: lines - 1 }, decisionHeads: 0 },
  });
  expect(await headsOf(directory, { living: log })).toMatchObject({ kinds: [] });
  expect(await checked(directory)).toMatchObject({ deviations: [] });
});

test('a pass with nothing new but heads signs nothing, and the next one with news does', async () => {
  const { log, publishAt, directory } = await signedArchive();
  const pass = async () => (await archived(log, directory, { signer: signerWith(log) })).signed?.kind;
  expect([await pass(), await pass()]).toEqual(['unchanged', 'unchanged']);
  await publishAt(SIGNED_AT_MS + 3 * DAY_MS, listed('news'));
  expect(await pass()).toBe('signed');
  expect(await recordsOf(log, { topic: TOPICS.heads.name })).toHaveLength(3);
  expect((await headsOf(directory, { living: log })).kinds).toEqual([]);
});

test('a head that came onto the log and not into the archive is right, and the next pass signs again', async () => {
  const { log, directory } = await signedArchive();
  const lines = linesIn(directory);
  rechained(directory, lines.slice(0, -1));
  expect((await headsOf(directory, { living: log })).kinds).toEqual([]);
  await archived(log, directory, { signer: signerWith(log) });
  expect((await headsOf(directory, { living: log })).kinds).toEqual([]);
});

test('an end that was cut off is seen by the heads of the log, and told with what is left', async () => {
  const { log, directory } = await signedArchive();
  const lines = linesIn(directory);
  const firstHead = lines.findIndex(({ kind }) => kind === 'head');
  const cut = lines.slice(0, firstHead + 1);
  for (const line of lines.slice(firstHead + 1)) if (line.kind === 'file') rmSync(join(directory, line.file));
  rechained(directory, cut);

  // Whoever has the archive alone has cut off its heads too.
  expect(await headsOf(directory)).toMatchObject({ kinds: [] });
  const found = await headsOf(directory, { living: log });
  expect(found.kinds).toEqual(['archive-cut']);
  expect(found.messages[0]).toContain(`over ${lines.length - 1} lines names them`);
});

/** An archive of the same log, made anew without its newest inventories; its heads are not sent to the log. */
async function madeAnew(signing: 'by the stolen key' | 'by nobody') {
  const { log, records, publishAt } = await signedArchive();
  const kept = records.filter(({ topic, offset }) => topic !== INVENTORY || offset < 2n);
  const forging = {
    read: logOf(kept).read,
    publish: async (records: readonly OutgoingRecord[]) => madeUpPositions(records),
  };
  const directory = join(temporaryDirectory(), 'anew');
  const signer = signing === 'by nobody' ? null : signerWith(forging);
  await archived(forging, directory, { signer });
  const lateMs = SIGNED_AT_MS + 5 * DAY_MS;
  await publishAt(lateMs, sent(revoked(ROOT, ARCHIVER, { issuedAtMs: lateMs })));
  return { directory, log };
}

test('an archive made anew whose heads never were on the log is told, though its archiver’s key signed them', async () => {
  const { directory, log } = await madeAnew('by the stolen key');
  // Whoever has the archive alone can only take the heads in it at their word.
  expect((await headsOf(directory)).kinds).toEqual([]);
  const found = await headsOf(directory, { living: log });
  expect(found.kinds).toEqual(['archive-rewritten']);
  expect(found.messages[0]).toContain('not on gc.heads');
  expect(found.heads.archive?.provedLines).toBe(0);
});

/** Changes an inventory in a file of an archive, and makes the manifest to fit. */
async function forge(
  directory: string,
  fromEnd: number,
  change: (lines: readonly ManifestContent[]) => readonly ManifestContent[],
): Promise<void> {
  const { file } = fileLine(directory, INVENTORY, fromEnd);
  await rewriteFile(
    directory,
    file,
    `SELECT * REPLACE (replace(value::VARCHAR, 'complete', 'forged')::BLOB AS value) FROM records`,
  );
  rechained(directory, change(linesIn(directory)));
}

const withoutHeads = (lines: readonly ManifestContent[]): readonly ManifestContent[] =>
  lines.filter(({ kind }) => kind !== 'head');
const asAnother = (lines: readonly ManifestContent[]): readonly ManifestContent[] =>
  lines.map((line) => (line.kind === 'archive' ? { ...line, id: 'another' } : line));

test.each([
  { name: 'anew as another archive', fromEnd: 3, change: (lines) => asAnother(withoutHeads(lines)) },
  { name: 'without its heads', fromEnd: 3, change: withoutHeads },
  { name: 'after its first head', fromEnd: 1, change: (lines) => lines.slice(0, -1) },
] satisfies { name: string; fromEnd: number; change: Parameters<typeof forge>[2] }[])(
  'an archiver does not sign what somebody made $name, who has the archive and no key',
  async ({ fromEnd, change }) => {
    const { directory, log } = await signedArchive();
    await forge(directory, fromEnd, change);
    const { signed } = await archived(log, directory, { signer: signerWith(log) });
    expect(signed?.kind).toBe('failed');
    const { kinds, gaps } = await headsOf(directory, { living: log });
    expect([...kinds, ...gaps]).not.toEqual([]);
  },
);

test('what an archiver found under no head it signs as it is on the log, and nothing else', async () => {
  const { directory, log, publishAt } = await signedArchive();
  await publishAt(SIGNED_AT_MS + 3 * DAY_MS, listed('news-1'), listed('news-2', 'web-2'));
  await archived(log, directory);
  const pass = async (signsFound = false) =>
    (await archived(log, directory, { signer: { ...signerWith(log), signsFound } })).signed;
  const before = linesIn(directory);
  await forge(directory, 1, (lines) => lines);
  expect(await pass()).toMatchObject({
    kind: 'failed',
    why: expect.stringMatching(
      /no head on the event log names, and gc\.node\.inventory\/\d+@\d+ is not what/,
    ),
  });
  expect(await pass(true)).toMatchObject({ kind: 'failed', why: expect.stringMatching(/somebody changed/) });
  await rewriteFile(
    directory,
    fileLine(directory, INVENTORY).file,
    `SELECT * REPLACE (replace(value::VARCHAR, 'forged', 'complete')::BLOB AS value) FROM records`,
  );
  rechained(directory, before);
  expect((await pass())?.kind).toBe('signed');
  expect((await headsOf(directory, { living: log, areRequired: true })).kinds).not.toContain(
    'archive-rewritten',
  );
});

test('an older archive, of which the log has not all any more, is signed when somebody says so', async () => {
  const { directory, log, records } = await signedArchive();
  rechained(directory, asAnother(withoutHeads(linesIn(directory))));
  const young = {
    ...log,
    read: logOf(records.filter(({ topic, offset }) => topic !== INVENTORY || offset > 0n)).read,
  };
  const pass = async (signsFound: boolean) =>
    (await archived(young, directory, { signer: { ...signerWith(young), signsFound } })).signed;
  expect(await pass(false)).toMatchObject({
    kind: 'failed',
    why: expect.stringMatching(/the event log has gc\.node\.inventory\/\d+@0 no more\. If you know/),
  });
  expect(await pass(true)).toMatchObject({ kind: 'signed' });
});

/** The log without some of its heads, or with others in their place. */
const withHeads = (
  records: readonly LogRecord[],
  change: (head: LogRecord) => readonly LogRecord[],
): TestLog => ({
  ...logOf(records.flatMap((record) => (record.topic === TOPICS.heads.name ? change(record) : record))),
  publish: async (records: readonly OutgoingRecord[]) => madeUpPositions(records),
});

test.each([
  { name: 'is gone', change: () => [] },
  { name: 'was taken at another time', change: (head: LogRecord) => [{ ...head, timestampMs: 1 }] },
  { name: 'says something else', change: (head: LogRecord) => [{ ...head, value: Buffer.from('{}') }] },
])('a head that the archive copied from the log and that $name there now is told', async ({ change }) => {
  const { directory, records } = await signedArchive();
  const living = withHeads(records, (head) => (head.offset === 0n ? change(head) : [head]));
  const found = await headsOf(directory, { living });
  expect(found.kinds).toContain('head-missing');
  expect(found.messages).toContainEqual(expect.stringMatching(/^1 head that the archive copied/));
});

test('a head that is missing on the log behind what the archive has of them is told', async () => {
  const { directory, records, publishAt } = await signedArchive();
  const [head] = records.filter(({ topic }) => topic === TOPICS.heads.name);
  if (head === undefined) throw new Error('there is no head');
  for (const _ of [1, 2]) await publishAt(SIGNED_AT_MS + 5 * DAY_MS, sent(head));
  const living = withHeads(records, (each) => (each.offset === 2n ? [] : [each]));
  expect((await headsOf(directory, { living })).kinds).toEqual(['head-missing']);
});

test('an archive of which the log has no head at all is not verified, and the heads of others are named', async () => {
  const { directory, log } = await madeAnew('by nobody');
  expect((await headsOf(directory)).gaps).toEqual([]);
  const found = await headsOf(directory, { living: log });
  expect(found.kinds).toEqual([]);
  expect(found.gaps).toEqual([expect.stringMatching(/^archive-unknown: .*heads of another/)]);
  const required = await headsOf(directory, { living: log, areRequired: true });
  expect(required.kinds).toContain('no-heads');
});

test('a record cut off the last file, with all checksums made right, is found with its partition and offsets', async () => {
  const { directory } = await signedArchive();
  const { file, lastOffset, partition, firstOffset } = fileLine(directory, INVENTORY);
  await rewriteFile(directory, file, `FROM records WHERE "offset" < ${lastOffset}`);
  const shorter = String(BigInt(lastOffset) - 1n);
  rechained(
    directory,
    linesIn(directory).map((line) =>
      line.kind === 'file' && line.file === file
        ? { ...line, lastOffset: shorter, rows: line.rows - 1 }
        : line,
    ),
  );
  expect(await headsOf(directory)).toMatchObject({
    kinds: ['archive-rewritten'],
    places: [[`${INVENTORY}/${partition}@${firstOffset}`, `${INVENTORY}/${partition}@${shorter}`]],
  });
});

test('a value rewritten in the middle, with all checksums made right, is found', async () => {
  const { directory } = await signedArchive();
  const { file, firstOffset, partition } = fileLine(directory, INVENTORY, 3);
  const forged = `SELECT * REPLACE (encode('{}') AS value) FROM records`;
  await rewriteFile(directory, file, forged);
  rechained(directory, linesIn(directory));
  const found = await headsOf(directory);
  expect(found.kinds).toEqual(['archive-rewritten']);
  expect(found.places[0]?.[0]).toBe(`${INVENTORY}/${partition}@${firstOffset}`);
});

test('two files that changed places, with all checksums made right, are found', async () => {
  const { directory } = await signedArchive();
  const [one, other] = [fileLine(directory, INVENTORY, 1).file, fileLine(directory, INVENTORY, 2).file];
  const path = (name: string): string => join(directory, name);
  renameSync(path(one), path('aside'));
  renameSync(path(other), path(one));
  renameSync(path('aside'), path(other));
  rechained(directory, linesIn(directory));
  expect((await headsOf(directory)).kinds).toEqual(['archive-rewritten']);
});

test('a statement taken out of the archive is found with its file', async () => {
  const { directory } = await signedArchive();
  const { file } = fileLine(directory, TOPICS.keys.name);
  await rewriteFile(directory, file, `FROM records WHERE key <> '${DECIDER.keyId}'`);
  rechained(
    directory,
    linesIn(directory).map((line) =>
      line.kind === 'file' && line.file === file ? { ...line, rows: 1, lastOffset: '0' } : line,
    ),
  );
  const found = await headsOf(directory);
  expect(found.kinds).toEqual(['archive-rewritten']);
  expect(found.messages[0]).toContain(TOPICS.keys.name);
});

test('heads of two archives are not mixed up, and one that was put into another archive is found', async () => {
  const { log, directory } = await signedArchive();
  const other = join(temporaryDirectory(), 'other');
  await archived(log, other, { signer: signerWith(log) });
  expect((await headsOf(directory, { living: log })).kinds).toEqual([]);
  expect((await headsOf(other, { living: log })).kinds).toEqual([]);
  rechained(other, [...linesIn(other).slice(0, -1), ...linesIn(directory).slice(-1)]);
  expect((await headsOf(other)).kinds).toEqual(['archive-rewritten']);
});

/** The archive with another head in the place of its last one. */
async function withHeadBy(key: typeof ARCHIVER, fleet: string): Promise<string> {
  const { directory } = await signedArchive();
  const lines = linesIn(directory);
  const last = lines.at(-1);
  if (last?.kind !== 'head') throw new Error('the last line is no head');
  const event: ArchiveHead = JSON.parse(Buffer.from(last.valueBase64, 'base64').toString());
  const ids = countedIds();
  const signer = signerOf({ fleet, role: 'archiver', key: () => key });
  const publisher = createPublisher({
    log: { publish: async (records: readonly OutgoingRecord[]) => madeUpPositions(records) },
    source: '/x',
    now: () => 0,
    ids,
    signer,
  });
  const forged = publisher.records([{ topic: 'heads', key: event.archive, event }], newTrace(ids));
  const heads = forged.map(
    ({ headers, value, key: recordKey }): ManifestContent => ({
      kind: 'head',
      key: recordKey,
      headers,
      valueBase64: value?.toString('base64') ?? '',
    }),
  );
  rechained(directory, [...lines.slice(0, -1), ...heads]);
  return directory;
}

test.each([
  { name: 'a decider', key: DECIDER, fleet: ROOTS.fleet },
  { name: 'a stranger', key: newKey(), fleet: ROOTS.fleet },
  { name: 'the archiver of another fleet', key: ARCHIVER, fleet: 'other' },
])('a head by $name is not believed', async ({ key, fleet }) => {
  expect((await headsOf(await withHeadBy(key, fleet))).kinds).toEqual(['not-trusted']);
});

test('an archive without heads is said to be so, and is a deviation where heads are required', async () => {
  const { log } = await signedArchive();
  const directory = join(temporaryDirectory(), 'unsigned');
  await archived(log, directory);
  expect(await headsOf(directory)).toMatchObject({ kinds: [], heads: { archive: { provedLines: 0 } } });
  expect((await headsOf(directory, { areRequired: true })).kinds).toEqual(['no-heads', 'no-heads']);
});

test('where heads are required, all of an archive has to be under them', async () => {
  const { log, publishAt, directory } = await signedArchive();
  const noHeads = async () => (await headsOf(directory, { areRequired: true })).messages;
  expect(await noHeads()).toEqual(['no decision service has signed a head']);
  await publishAt(SIGNED_AT_MS + 3 * DAY_MS, listed('news'));
  await archived(log, directory);
  expect((await headsOf(directory)).kinds).toEqual([]);
  expect((await noHeads())[0]).toMatch(/^1 line of the manifest after line \d+ is under no head/);
});

test('who may not sign archives nothing less, and says so', async () => {
  const { log, publishAt, directory } = await signedArchive();
  await publishAt(SIGNED_AT_MS + 3 * DAY_MS, listed('news'));
  for (const key of [DECIDER, newKey()]) {
    const { signed, records } = await archived(log, directory, { signer: signerWith(log, key) });
    expect(signed?.kind).toBe('failed');
    expect(records).toBeLessThan(3);
  }
  const late = signerWith(log, ARCHIVER, SIGNED_AT_MS + 365 * DAY_MS);
  expect((await archived(log, directory, { signer: late })).signed).toMatchObject({
    kind: 'failed',
    why: expect.stringContaining('expired'),
  });
});

test('each pass signs with the key that lies there then, and archives where none can be read', async () => {
  const { log, publishAt, directory } = await signedArchive();
  let key: SigningKey | null = null;
  const readKey = async (): Promise<SigningKey> => {
    if (key === null) throw new FleetGcError('KEY_UNUSABLE', 'the vault is sealed');
    return key;
  };
  const signer = { ...signerWith(log), readKey };
  await publishAt(SIGNED_AT_MS + 3 * DAY_MS, listed('news'));
  const { signed, files } = await archived(log, directory, { signer });
  expect(signed).toEqual({ kind: 'failed', why: 'the vault is sealed' });
  expect(files).toBeGreaterThan(0);
  key = ARCHIVER;
  expect((await archived(log, directory, { signer })).signed?.kind).toBe('signed');
});

test('heads prove an archive years later, over a rotation, with keys that have ended or were revoked', async () => {
  const { log, publishAt, directory } = await signedArchive();
  const next = newKey();
  const laterMs = SIGNED_AT_MS + 40 * DAY_MS;
  const over = { role: 'archiver', issuedAtMs: laterMs, notAfterMs: laterMs + 30 * DAY_MS } as const;
  // The first key has ended by then, and is taken back for what came since.
  await publishAt(
    laterMs,
    sent(certified(ROOT, next, over)),
    sent(revoked(ROOT, ARCHIVER, { issuedAtMs: laterMs })),
  );
  await publishAt(laterMs + 1, listed('later'));
  await archived(log, directory, { signer: signerWith(log, next, laterMs + 2) });
  const found = await headsOf(directory);
  expect(found.kinds).toEqual([]);
  expect(found.heads.archive?.provedLines).toBe(linesIn(directory).length - 1);
});

test('with a newer file of roots the word of a root that it lacks is not called missing', async () => {
  const { log, publishAt, directory } = await signedArchive();
  const [root, again] = [newKey(), SIGNED_AT_MS + DAY_MS];
  await publishAt(again, sent(certified(root, ARCHIVER, { role: 'archiver', issuedAtMs: again - DAY_MS })));
  await archived(log, directory, { signer: signerWith(log) });
  expect((await headsOf(directory, { roots: rootsOf(root) })).kinds).not.toContain('statement-missing');
});

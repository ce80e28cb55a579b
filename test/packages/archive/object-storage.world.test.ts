import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  PutBucketPolicyCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { writeMonth } from '../../../lab/bench/month/write-month.ts';
import { requireManifest } from '../../../packages/archive/archive-files.ts';
import { followLog } from '../../../packages/archive/archive-log.ts';
import { openArchiveWriter, written } from '../../../packages/archive/archive-writer.ts';
import { ARCHIVE_VERSION, chained } from '../../../packages/archive/manifest.ts';
import { openStore } from '../../../packages/archive/open-store.ts';
import { sha256Base64 } from '../../../packages/archive/s3/objects.ts';
import { placeText, type S3Place } from '../../../packages/archive/store.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { DAY_MS } from '../../../packages/process/durations.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { fleetgc, inProcess, ownLog } from '../../cli/fleetgc.ts';
import { embeddedLog, readiness } from '../../cli/service-options.ts';
import { BOUND_MS, startVerb } from '../../cli/service-process.ts';
import { inventory } from '../../fixtures/inventory.ts';
import { SIGNED_AT_MS } from '../../fixtures/trust.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import {
  BUCKET,
  type Login,
  type ObjectStorage,
  REGION,
  startObjectStorage,
} from '../../support/object-storage.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../../support/program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { aws } from '../../support/toolchain/aws-cli.ts';
import { ensureHttpfs } from '../../support/toolchain/httpfs.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type WatchedConnections, watchConnections } from '../../support/watched-connections.ts';
import { archived, checked, logOf, NOTED_MS } from '../audit/support/archives.ts';
import { headsOf, listed, signedArchive, signerWith } from '../audit/verify/signed-archive.ts';
import { at, describePlace, offsetsOf } from './support/place-contract.ts';

let storage: ObjectStorage;
beforeAll(async () => {
  storage = await startObjectStorage();
  // As the default chain of the SDK finds them.
  for (const [name, value] of Object.entries(storage.owner)) vi.stubEnv(name, value);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await storage[Symbol.asyncDispose]();
});

/** As who it is that the SDK finds in the environment. */
async function withLogin<Told>(login: Login, run: () => Promise<Told>): Promise<Told> {
  const asWho = (who: Login): void => {
    for (const [name, value] of Object.entries(who)) vi.stubEnv(name, value);
  };
  asWho(login);
  try {
    return await run();
  } finally {
    asWho(storage.owner);
  }
}

describePlace('object storage', async () => {
  const place = storage.newPlace();
  return {
    place,
    files: () => storage.names(place),
    read: (name) => storage.read(place, name),
    write: (name, content) => storage.write(place, name, content),
    remove: (name) => storage.remove(place, name),
  };
});

const s3Flags = (place: S3Place): readonly string[] => [
  ...['--s3-endpoint', place.endpoint ?? '', '--s3-region', REGION, '--s3-path-style'],
];
const asArchive = (place: S3Place): readonly string[] => [
  ...['--log', 'archive', '--archive', placeText(place)],
  ...s3Flags(place),
];

/** Someone in between, on the way to a place of its own. */
async function watchedPlace(): Promise<{ place: S3Place; watched: WatchedConnections }> {
  const watched = await watchConnections(storage.port);
  onTestFinished(() => watched[Symbol.asyncDispose]());
  return { place: storage.newPlace(`http://127.0.0.1:${watched.port}`), watched };
}

const openUploads = async ({ prefix }: S3Place): Promise<number> =>
  (await storage.client.send(new ListMultipartUploadsCommand({ Bucket: BUCKET, Prefix: prefix }))).Uploads
    ?.length ?? 0;

test('an upload of somebody else below the same prefix is not ended', async () => {
  const place = storage.newPlace();
  await archived(logOf([at(0)]), place);
  const Key = `${place.prefix}other/backup.tar`;
  await storage.client.send(new CreateMultipartUploadCommand({ Bucket: BUCKET, Key }));
  await archived(logOf([at(0), at(1)]), place);
  expect(await openUploads(place)).toBe(1);
});

test('the verbs read from object storage what they read from a directory', async () => {
  const { log, run } = await ownLog();
  for (const id of ['one', 'two', 'three'])
    await log.publish([outgoing(nodeOutput('inventory', inventory({ id })))]);
  const [place, directory] = [storage.newPlace(), temporaryDirectory()];
  const toStorage = await run('audit', 'archive', '--to', placeText(place), ...s3Flags(place));
  expect(toStorage).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^3 records archived in 1 file$/m),
  });
  await run('audit', 'archive', '--to', directory);
  const sql = 'SELECT topic, count(*) AS n FROM records GROUP BY topic';
  const policy = join(temporaryDirectory(), 'lower.yaml');
  writeFileSync(policy, 'name: lower\nimageGCHighThresholdPercent: 70\nimageGCLowThresholdPercent: 65\n');
  for (const args of [
    ['audit', 'explain', 'node/web-1'],
    ['audit', 'verify'],
    ['audit', 'report', '--from', '2026-01-01'],
    ['audit', 'events'],
    ['audit', 'simulate', '--policy', policy],
  ]) {
    const there = await inProcess([...args, ...asArchive(place)]);
    const here = await inProcess([...args, '--log', 'archive', '--archive', directory]);
    expect({ args, ...there }).toEqual({ args, ...here });
  }
  const queried = await inProcess([
    ...['audit', 'query', sql, '--archive', placeText(place)],
    ...s3Flags(place),
  ]);
  expect(queried).toEqual(await inProcess(['audit', 'query', sql, '--archive', directory]));
  const check = await fleetgc(
    ['audit', 'archive', 'check', '--archive', placeText(place), ...s3Flags(place)],
    {
      environment: { ...storage.owner },
    },
  );
  expect(check).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('As it was written.') });
});

test('a copy of object storage is an archive in a directory, and a copy of that is one in object storage', async () => {
  const place = storage.newPlace();
  const { head } = await archived(logOf([at(0), at(1)]), place);
  const directory = join(temporaryDirectory(), 'copy');
  cpSync(join(storage.directory, BUCKET, place.prefix), directory, { recursive: true });
  expect(await checked(directory, head)).toMatchObject({ deviations: [], records: 2 });
  await archived(logOf([at(0), at(1), at(2)]), directory);
  const back = storage.newPlace();
  const files = [
    'manifest.jsonl',
    ...(await storage.names(place)).filter((name) => name !== 'manifest.jsonl'),
  ];
  const all = new Set([...files, ...linesOf(directory)]);
  for (const name of all) await storage.write(back, name, readFileSync(join(directory, name)));
  await archived(logOf([at(0), at(1), at(2), at(3)]), back);
  expect(await offsetsOf(back)).toEqual(['3@0', '3@1', '3@2', '3@3']);
  expect(await checked(back, head)).toMatchObject({ deviations: [], records: 4 });
});

test('aws s3 sync of an archive is an archive that verify proves, and synced back one that is gone on with', async () => {
  const { log, run } = await ownLog();
  await log.publish([outgoing(nodeOutput('inventory', inventory({ id: 'one' })))]);
  const [place, back, directory] = [storage.newPlace(), storage.newPlace(), temporaryDirectory()];
  await run('audit', 'archive', '--to', placeText(place), ...s3Flags(place));
  const sync = (...args: readonly string[]) =>
    aws(
      ['--endpoint-url', storage.endpoint, '--region', REGION, 's3', 'sync', '--only-show-errors', ...args],
      { ...storage.owner },
    );
  await sync(placeText(place), directory);
  const verified = await inProcess(['audit', 'verify', '--log', 'archive', '--archive', directory]);
  expect(verified).toEqual(await inProcess(['audit', 'verify', ...asArchive(place)]));
  expect(await checked(directory)).toMatchObject({ deviations: [], unfinished: [], records: 1 });
  await sync('--exclude', 'archive.lock*', directory, placeText(back));
  await log.publish([outgoing(nodeOutput('inventory', inventory({ id: 'two' })))]);
  expect(await run('audit', 'archive', '--to', placeText(back), ...s3Flags(back))).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('1 record archived in 1 file'),
  });
  expect(await checked(back)).toMatchObject({ deviations: [], unfinished: [], records: 2 });
});

test('a following archiver goes on pass by pass, and begins anew after another one wrote meanwhile', async () => {
  const place = storage.newPlace();
  const records = [at(0), at(1)];
  const stopping = new AbortController();
  const meanwhile = [
    async () => void records.push(at(2)),
    async () => {
      records.push(at(3));
      await archived(logOf(records), place);
      records.push(at(4));
    },
    async () => void records.push(at(5)),
  ];
  const told: (string | number)[] = [];
  await followLog(
    {
      ...{
        log: logOf(records),
        place,
        everyMs: 900_000,
        now: () => NOTED_MS,
        newId: randomUUID,
        signer: null,
      },
      wait: async () => {
        const step = meanwhile.shift();
        if (step === undefined) stopping.abort();
        else await step();
      },
      onProgress: () => undefined,
      onRun: (run) => void told.push(run.records),
      onFailure: ({ code }) => void told.push(code),
      onReached: () => undefined,
    },
    stopping.signal,
  );
  expect(told).toEqual([2, 1, 'STATE_IN_USE', 2]);
  expect(await offsetsOf(place)).toEqual(['3@0', '3@1', '3@2', '3@3', '3@4', '3@5']);
  expect(await checked(place)).toMatchObject({ deviations: [], unfinished: [], records: 6 });
});

test('the verb that follows is ready with object storage, and stops in order', async () => {
  const options = await embeddedLog();
  const place = storage.newPlace();
  const running = startVerb(
    'audit',
    'archive',
    '--follow',
    '--to',
    placeText(place),
    ...s3Flags(place),
    ...options,
  );
  await readiness(running, { status: 200, says: '[+] archive' });
  await waitUntil('the first pass', BOUND_MS, () => running.output.stderr.includes('"msg":"archived"'));
  expect(await running.terminate()).toBe(0);
  expect(await checked(place)).toMatchObject({ deviations: [], unfinished: [] });
});

test('the page shows what is archived in object storage', async () => {
  const place = storage.newPlace();
  await archived(logOf([at(0)]), place);
  const projection = join(temporaryDirectory(), 'dashboard.db');
  const running = startVerb('dashboard', ...asArchive(place), '--projection', projection);
  await waitUntil('the node on the page', BOUND_MS, async () => {
    const { status, text } = await running.get('/api/plan?cluster=prod&node=web-1');
    return status === 200 && text.includes('"3-0"');
  });
  expect(await running.terminate()).toBe(0);
});

const linesOf = (directory: string): readonly string[] =>
  readFileSync(join(directory, 'manifest.jsonl'), 'utf8')
    .split('\n')
    .flatMap((line) => /"file":"([^"]+)"/.exec(line)?.[1] ?? [])
    .flatMap((file) => [file, file.replace('records/', 'names/').replace('.parquet', '.names.jsonl.zst')]);

test('signed heads mean the same there: a copy is signed on, and an end that was cut off is seen', async () => {
  const { log, publishAt, directory } = await signedArchive();
  const place = storage.newPlace();
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('archive.lock'))
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)));
  for (const name of names) await storage.write(place, name, readFileSync(join(directory, name)));
  await publishAt(SIGNED_AT_MS + 3 * DAY_MS, listed('news'));
  const { signed } = await archived(log, place, { signer: signerWith(log) });
  expect(signed).toEqual({ kind: 'signed' });
  expect((await headsOf(place, { living: log })).kinds).toEqual([]);
  await storage.write(place, 'manifest.jsonl', readFileSync(join(directory, 'manifest.jsonl')));
  expect((await headsOf(place)).kinds).toEqual([]);
  expect((await headsOf(place, { living: log })).kinds).not.toEqual([]);
});

/** What no compression makes smaller, so that a file of it goes in parts. */
const LARGE_BYTES = 900_000;
const LARGE = 14;

/** A log whose records become one file of three parts, and what an archiver left of it that was killed in the second one. */
async function killedUpload() {
  const { log, path } = await ownLog();
  const publish = () =>
    log.publish([
      {
        ...outgoing(nodeOutput('inventory', inventory({ id: randomUUID() }))),
        value: randomBytes(LARGE_BYTES),
      },
    ]);
  for (let number = 0; number < LARGE; number += 1) await publish();
  const { place, watched } = await watchedPlace();
  const direct = { ...place, endpoint: storage.endpoint };
  const args = ['audit', 'archive', '--to', placeText(place), '--log', 'embedded', '--log-path', path];
  const held = watched.holdAt('partNumber=2');
  const child = spawn(PROGRAM, [...args, ...s3Flags(place)], {
    env: { ...PROGRAM_ENVIRONMENT, ...storage.owner },
    stdio: 'ignore',
  });
  await held;
  child.kill('SIGKILL');
  await once(child, 'exit');
  const { Uploads: uploads = [] } = await storage.client.send(
    new ListMultipartUploadsCommand({ Bucket: BUCKET, Prefix: place.prefix }),
  );
  const [upload] = uploads;
  if (upload === undefined || uploads.length > 1) throw new Error('one upload should have been left');
  /** Archives again, and tells which parts were sent then. */
  const partsSentAgain = async (records = LARGE): Promise<readonly string[]> => {
    const between = await watchConnections(storage.port);
    onTestFinished(() => between[Symbol.asyncDispose]());
    const through = { ...place, endpoint: `http://127.0.0.1:${between.port}` };
    expect(await inProcess([...args, ...s3Flags(through)])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(`${records} records archived in 1 file`),
    });
    expect(await openUploads(place)).toBe(0);
    expect(await checked(direct)).toMatchObject({ deviations: [], unfinished: [], records });
    return between.requests.flatMap((line) => /^PUT .*[?&]partNumber=(\d+)/.exec(line)?.[1] ?? []);
  };
  const { Key, UploadId } = upload;
  const run = () => inProcess([...args, ...s3Flags(direct)]);
  return { place: direct, upload: { Bucket: BUCKET, Key, UploadId }, publish, run, partsSentAgain };
}

test('killed in the middle of an upload in parts: the next run sends only the parts that did not arrive', async () => {
  const { partsSentAgain } = await killedUpload();
  expect(await partsSentAgain()).toEqual(['2', '3']);
});

test('a part that is not what would be sent now is sent again', async () => {
  const { upload, partsSentAgain } = await killedUpload();
  const Body = randomBytes(5 * 1024 * 1024);
  await storage.client.send(
    new UploadPartCommand({ ...upload, PartNumber: 1, Body, ChecksumSHA256: sha256Base64(Body) }),
  );
  expect(await partsSentAgain()).toEqual(['1', '2', '3']);
});

test('an upload of other records is begun anew, and the old one ended', async () => {
  const { publish, partsSentAgain } = await killedUpload();
  await publish();
  expect(await partsSentAgain(LARGE + 1)).toEqual(['1', '2', '3']);
});

test('two archivers that go on with one upload: all is there once, and nothing is left', async () => {
  const { place, publish, run } = await killedUpload();
  const ended = await Promise.all([run(), run()]);
  const failed = ended.filter(({ exitCode }) => exitCode !== 0);
  expect(failed.length).toBeLessThan(2);
  for (const { stderr } of failed) expect(stderr).toContain('another process writes to the archive');
  await publish();
  expect(await run()).toMatchObject({ exitCode: 0 });
  expect(await openUploads(place)).toBe(0);
  expect(await checked(place)).toMatchObject({ deviations: [], unfinished: [], records: LARGE + 1 });
});

/** The first ones only try what the storage heeds. */
const FIRST_REQUEST = 5;
const MOST_REQUESTS = 60;

/**
 * An archiver of which nothing arrives from that request on, nor what it does when it notices: for the storage it was killed. Tells
 * whether it came so far.
 */
async function cutOffAt(request: number): Promise<{ readonly place: S3Place; readonly isCutOff: boolean }> {
  const { place, watched } = await watchedPlace();
  const held = watched.holdAtRequest(request);
  const ended = archived(logOf([at(0)]), place);
  const isCutOff = await Promise.race([held.then(() => true), ended.then(() => false)]);
  await watched[Symbol.asyncDispose]();
  if (isCutOff) await expect(ended).rejects.toMatchObject({ code: expect.stringMatching(/^STATE_UN/) });
  return { place: { ...place, endpoint: storage.endpoint }, isCutOff };
}

test('cut off from the storage at any request: the next run makes of it what it would have been', async () => {
  const requests = [...Array(MOST_REQUESTS - FIRST_REQUEST).keys()].map((each) => each + FIRST_REQUEST);
  const cut: boolean[] = [];
  const goOn = async (request: number): Promise<void> => {
    const { place, isCutOff } = await cutOffAt(request);
    cut[request] = isCutOff;
    for (const records of [[at(0)], [at(0), at(1)]]) {
      await archived(logOf(records), place);
      const { deviations } = await checked(place);
      expect({ request, deviations }).toEqual({ request, deviations: [] });
    }
    expect({ request, ...(await checked(place)) }).toMatchObject({ unfinished: [], records: 2 });
    expect({ request, offsets: await offsetsOf(place) }).toEqual({ request, offsets: ['3@0', '3@1'] });
  };
  for (let from = 0; cut.every(Boolean); from += CUT_AT_ONCE)
    await Promise.all(requests.slice(from, from + CUT_AT_ONCE).map(goOn));
  expect(cut.filter(Boolean).length).toBeGreaterThan(8);
});

/** Each waits most of the time until the archiver gives up. */
const CUT_AT_ONCE = 12;

test('a connection that is lost in the middle of an upload, or when a line was written already, loses nothing', async () => {
  const { place, watched } = await watchedPlace();
  await archived(logOf([at(0)]), place);
  for (const [text, times] of [
    ['.parquet?', 2],
    ['manifest.jsonl?x-id=PutObject', 2],
  ] as const) {
    watched.cutAt(text, times);
    const offset = text === '.parquet?' ? 1 : 2;
    await archived(logOf([0, 1, 2].slice(0, offset + 1).map((each) => at(each))), place);
  }
  expect(watched.cuts).toBe(4);
  expect(await offsetsOf(place)).toEqual(['3@0', '3@1', '3@2']);
  expect(await checked(place)).toMatchObject({ deviations: [], unfinished: [] });
});

test('two archivers at once, again and again: all is there once, and whoever lost says so', async () => {
  const place = storage.newPlace();
  const log = logOf([...Array(40).keys()].map((each) => at(Math.floor(each / 20), { partition: each % 20 })));
  const run = () => archived(log, place, { limits: { rows: 1, rawBytes: 1_000_000 } });
  const heads: string[] = [];
  for (let round = 0; round < 12; round += 1)
    for (const ended of await Promise.allSettled([run(), run()]))
      if (ended.status === 'fulfilled') heads.push(ended.value.head);
      else expect(ended.reason).toMatchObject({ code: 'STATE_IN_USE' });
  for (const head of new Set(heads)) {
    const { deviations } = await checked(place, head);
    expect(deviations.filter((one) => !one.includes('was added'))).toEqual([]);
  }
  await run();
  await archived(logOf([...Array(20).keys()].map((partition) => at(2, { partition }))), place);
  expect(await checked(place)).toMatchObject({ deviations: [], unfinished: [], records: 60 });
  expect(new Set(await offsetsOf(place)).size).toBe(60);
});

test('what an archiver has in hand stays where another finds nothing new, and its line is taken', async () => {
  const place = storage.newPlace();
  const { head } = await archived(logOf([at(0)]), place);
  using store = await openStore(place);
  using writable = await store.openForWriting(randomUUID);
  const manifest = requireManifest(store.name, (await writable.readManifest()) ?? Buffer.alloc(0));
  await writable.clear({ manifest, unnamed: [] });
  const target = { store: writable, version: ARCHIVE_VERSION };
  const file = await written(target, RANGE, { write: async (path) => writeFileSync(path, 'x'), names: null });
  await archived(logOf([at(0)]), place);
  await writable.append(chained(file, head));
  expect(await checked(place)).toMatchObject({ deviations: [], files: 2 });
});

test('what somebody wrote who was too late is cleared away with the next line', async () => {
  const place = storage.newPlace();
  await archived(logOf([at(0)]), place);
  const sources = { now: () => NOTED_MS, newId: randomUUID };
  using slow = await openArchiveWriter(place, sources);
  slow.beginPass(NOTED_MS);
  await archived(logOf([at(0), at(1)]), place);
  // Its file is written, and its line refused: whoever comes next clears it away.
  await expect(
    slow.addFile(RANGE, { write: async (path) => writeFileSync(path, 'x'), names: null }),
  ).rejects.toMatchObject({ code: 'STATE_IN_USE' });
  expect((await checked(place)).deviations).toEqual([expect.stringContaining('was added')]);
  await archived(logOf([at(0), at(1), at(2)]), place);
  expect(await checked(place)).toMatchObject({ deviations: [], unfinished: [], records: 3 });
});

const RANGE = {
  ...{ topic: TOPICS.inventory.name, partition: 3, firstOffset: 1n, lastOffset: 1n },
  ...{ rows: 1, rawBytes: 1, oldestMs: 1, newestMs: 1, lastMs: 1 },
};

/** Each with what it takes to notice that it is missing. */
const DENIED = [
  { right: 's3:ListBucket', verb: 'check' },
  { right: 's3:GetObject', verb: 'check' },
  { right: 's3:PutObject', verb: 'archive' },
  { right: 's3:ListBucketMultipartUploads', verb: 'archive' },
] as const;

test('the rights of the documentation are enough, and one that is missing is named', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/operating/archive.md'), 'utf8');
  const [policy = ''] = /\{\s+"Version"[\s\S]*?\n\}/.exec(page) ?? [];
  const archiver = { AWS_ACCESS_KEY_ID: 'archiver', AWS_SECRET_ACCESS_KEY: 'archivers-secret' };
  await storage.addUser(archiver);
  const place = storage.newPlace();
  const { log, path } = await ownLog();
  await log.publish([outgoing(nodeOutput('inventory', inventory()))]);
  const verbs = {
    archive: ['audit', 'archive', '--to', placeText(place), '--log', 'embedded', '--log-path', path],
    check: ['audit', 'archive', 'check', '--archive', placeText(place)],
  };
  const run = (verb: keyof typeof verbs) =>
    withLogin(archiver, () => inProcess([...verbs[verb], ...s3Flags(place)]));
  const grant = (without: string | null) =>
    storage.client.send(new PutBucketPolicyCommand({ Bucket: BUCKET, Policy: policyFor(policy, without) }));
  await grant(null);
  expect(await run('archive')).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await run('check')).toMatchObject({ exitCode: 0, stderr: '' });
  for (const { right, verb } of DENIED) {
    await grant(right);
    const refused = { exitCode: 1, stderr: expect.stringContaining(`lacks the right ${right},`) };
    expect({ right, ...(await run(verb)) }).toMatchObject(refused);
  }
});

/** That of the documentation, for the bucket here and everybody who is known here. */
function policyFor(text: string, without: string | null): string {
  const policy = JSON.parse(
    text.replaceAll('audit/fleetgc', `${BUCKET}/fleets`).replaceAll(':::audit', `:::${BUCKET}`),
  );
  return JSON.stringify({
    ...policy,
    Statement: policy.Statement.flatMap(({ Action, ...statement }: { Action: string[] }) => {
      const left = Action.filter((action) => action !== without);
      return left.length === 0 ? [] : [{ ...statement, Action: left, Principal: { AWS: ['archiver'] } }];
    }),
  });
}

test.each<{
  name: string;
  over: (place: S3Place) => Partial<S3Place>;
  environment?: Record<string, string>;
  says: string;
}>([
  {
    name: 'a bucket that is not there',
    over: () => ({ bucket: 'nobodys-bucket' }),
    says: 'there is no bucket nobodys-bucket',
  },
  {
    name: 'nobody at the endpoint',
    over: () => ({ endpoint: 'http://127.0.0.1:1' }),
    says: 'cannot be reached',
  },
  { name: 'another region', over: () => ({ region: 'us-west-9' }), says: 'give --s3-region' },
  {
    name: 'no archive',
    over: () => ({ prefix: 'nothing/' }),
    says: 'there is no archive in s3://audit/nothing',
  },
  {
    name: 'credentials that nobody knows',
    over: () => ({}),
    environment: { AWS_SECRET_ACCESS_KEY: 'wrong' },
    says: 'does not know these credentials',
  },
])('tells of $name in a sentence', async ({ over, environment = {}, says }) => {
  const base = storage.newPlace();
  const place = { ...base, ...over(base) };
  const flags = ['--s3-endpoint', place.endpoint ?? '', '--s3-region', place.region ?? '', '--s3-path-style'];
  const { exitCode, stderr } = await withLogin({ ...storage.owner, ...environment }, () =>
    inProcess(['audit', 'archive', 'check', '--archive', placeText(place), ...flags]),
  );
  expect(stderr).toContain(says);
  expect(exitCode).toBe(1);
});

/** Of a small fleet; a month of a thousand nodes was measured by hand: docs/operating/archive.md. */
const SMALL_MONTH = { nodes: 64, days: 2, seed: 7 };
const MOST_OF_ANY_NODE = 0.4;
const MOST_OF_ONE_NODE = 0.1;

test('the life of one object takes a part of the archive, and with its node a small one', async () => {
  const path = join(temporaryDirectory(), 'month.db');
  await writeMonth(path, SMALL_MONTH);
  const { place, watched } = await watchedPlace();
  const flags = s3Flags(place);
  const log = ['--log', 'embedded', '--log-path', path, '--log-max-size', '64Gi'];
  expect((await inProcess(['audit', 'archive', '--to', placeText(place), ...log, ...flags])).exitCode).toBe(
    0,
  );
  const { sizeBytes } = await checked(place);
  const { id, node } = await removedContainer(place);
  const fetched = async (...more: string[]): Promise<number> => {
    const before = watched.fetchedBytes();
    const told = await inProcess(['audit', 'explain', `container/${id}`, ...more, ...asArchive(place)]);
    expect(told).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Removed by FleetGC') });
    return (watched.fetchedBytes() - before) / sizeBytes;
  };
  expect(await fetched()).toBeLessThan(MOST_OF_ANY_NODE);
  expect(await fetched('--node', node)).toBeLessThan(MOST_OF_ONE_NODE);
});

/** The first container that a command names. */
async function removedContainer(place: S3Place): Promise<{ readonly id: string; readonly node: string }> {
  const sql = `SELECT key, event->'items' AS items FROM commands WHERE event->>'items' LIKE '%"kind":"container"%' ORDER BY time LIMIT 1`;
  const { stdout } = await inProcess([
    ...['audit', 'query', sql, '-o', 'ndjson', '--archive', placeText(place)],
    ...s3Flags(place),
  ]);
  const { key, items } = z.object({ key: z.string(), items: z.string() }).parse(JSON.parse(stdout));
  const named = z.array(z.looseObject({ kind: z.string(), id: z.string() })).parse(JSON.parse(items));
  return { node: key, id: named.find(({ kind }) => kind === 'container')?.id ?? '' };
}

test('DuckDB reads an archive as a table without us, in object storage', async () => {
  const place = storage.newPlace();
  await archived(
    logOf([at(0), at(1), at(0, { partition: 4 }), at(0, { topic: TOPICS.observe.name })]),
    place,
  );
  const instance = await DuckDBInstance.create(':memory:', { allow_unsigned_extensions: 'true' });
  const connection = await instance.connect();
  await connection.run(`LOAD '${await ensureHttpfs()}'`);
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = storage.owner;
  await connection.run(
    `CREATE SECRET (TYPE s3, KEY_ID '${id}', SECRET '${secret}', REGION '${REGION}', ENDPOINT '127.0.0.1:${storage.port}', URL_STYLE 'path', USE_SSL false)`,
  );
  const table = `read_parquet('${placeText(place)}/records/*/*/*.parquet', hive_partitioning = true)`;
  const rows = await connection.runAndReadAll(
    `SELECT topic, "date"::VARCHAR AS day, count(*)::INTEGER AS n FROM ${table} WHERE topic = 'gc.node.inventory' AND "date" >= DATE '2026-01-01' GROUP BY ALL`,
  );
  expect(rows.getRowObjectsJson()).toEqual([{ topic: 'gc.node.inventory', day: '2026-01-01', n: 3 }]);
  connection.closeSync();
  instance.closeSync();
});

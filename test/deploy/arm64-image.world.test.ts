import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { extract, pack } from 'tar-stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { inProcess } from '../cli/fleetgc.ts';
import { readCorpus } from '../packages/audit/deciders/corpus.ts';
import { patiently } from '../support/patience.ts';
import { arm64Image, ensureArm64Emulator } from '../support/toolchain/arm64.ts';
import { run } from '../support/toolchain/command.ts';
import { ensureServiceImage } from '../support/toolchain/images/service-image.ts';
import { SERVICE_IMAGE } from '../support/toolchain/versions.ts';

const BOUND_MS = patiently(240_000);
const DOCKER_MS = 60_000;
const TAG = `fleetgc/fleetgc:arm64-test-${process.pid}`;
/** How an ELF file begins, and what it says of machines. */
const ELF = Buffer.from('\u007fELF', 'latin1');
const MACHINE_AT = 18;
const AARCH64 = 183;

const folder = mkdtempSync(join(tmpdir(), 'fleetgc-arm64-'));
const imageFile = join(folder, 'image.tar');
beforeAll(async () => {
  await Promise.all([arm64Image(imageFile, TAG), ensureServiceImage()]);
  await run('docker', ['load', '--input', imageFile], { usualMs: DOCKER_MS });
}, BOUND_MS);
afterAll(async () => {
  await run('docker', ['rmi', TAG], { usualMs: DOCKER_MS });
  rmSync(folder, { recursive: true, force: true });
});

/** Its first bytes; the others are read past. */
async function beginningOf(entry: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of entry.iterator()) {
    if (bytes < MACHINE_AT + 2) chunks.push(Buffer.from(chunk));
    bytes += chunk.length;
  }
  return Buffer.concat(chunks);
}

/** Files of an archive, each with how it begins. */
async function* filesIn(archive: Readable): AsyncIterable<{ readonly name: string; readonly start: Buffer }> {
  for await (const entry of archive.pipe(extract())) {
    const start = await beginningOf(Readable.from(entry));
    if (entry.header.type === 'file') yield { name: entry.header.name, start };
  }
}

/** Of every program and library of the image: for which machine it is. */
async function machinesIn(image: string): Promise<ReadonlyMap<string, number>> {
  const machines = new Map<string, number>();
  for await (const layer of createReadStream(image).pipe(extract())) {
    if (!layer.header.name.endsWith('.tar')) {
      layer.resume();
      continue;
    }
    for await (const { name, start } of filesIn(Readable.from(layer)))
      if (start.subarray(0, ELF.length).equals(ELF)) machines.set(name, start.readUInt16LE(MACHINE_AT));
  }
  return machines;
}

test(
  'every program and every library in it is for arm64',
  async () => {
    const machines = await machinesIn(imageFile);
    expect(machines.size).toBeGreaterThan(100);
    expect([...machines].filter(([, machine]) => machine !== AARCH64)).toEqual([]);
    // What starts our program, and what Docker's health check starts.
    for (const program of [
      'usr/local/bin/node',
      'usr/bin/dash',
      'usr/bin/readlink',
      'usr/bin/find',
      'usr/bin/head',
    ])
      expect([...machines.keys()]).toContain(`./${program}`);
  },
  BOUND_MS,
);

test('a program for another machine would be found', async () => {
  const layer = pack();
  layer.entry({ name: './bin/other' }, readFileSync(process.execPath).subarray(0, 64));
  layer.finalize();
  const image = pack();
  image.entry({ name: 'layer.tar' }, await buffer(layer));
  image.finalize();
  const other = join(folder, 'other.tar');
  writeFileSync(other, await buffer(image));
  const mine = { x64: 62, arm64: AARCH64 };
  expect([...(await machinesIn(other))]).toEqual([
    ['./bin/other', mine[z.enum(['x64', 'arm64']).parse(process.arch)]],
  ]);
});

const Inspected = z.tuple([
  z.object({
    Architecture: z.string(),
    Os: z.string(),
    Config: z.looseObject({ Env: z.array(z.string()), Labels: z.record(z.string(), z.string()) }),
  }),
]);
/** Of a machine with certificates of its own, and of how the tests build it. */
const OF_THE_TESTS = { env: /^NODE_EXTRA_CA_CERTS=/, label: 'fleetgc.recipe' };

async function inspected(image: string) {
  const { stdout } = await run('docker', ['image', 'inspect', image], { usualMs: DOCKER_MS });
  const [{ Architecture, Os, Config }] = Inspected.parse(JSON.parse(stdout));
  const { User, WorkingDir, Entrypoint, Cmd, Healthcheck, Labels, Env } = Config;
  const labels = Object.fromEntries(Object.entries(Labels).filter(([name]) => name !== OF_THE_TESTS.label));
  const env = Env.filter((variable) => !OF_THE_TESTS.env.test(variable));
  return {
    platform: `${Os}/${Architecture}`,
    settings: { User, WorkingDir, Entrypoint, Cmd, Healthcheck, labels, env },
  };
}

test('it calls itself an image for arm64, and has the settings of the one that the Dockerfile makes', async () => {
  const [made, dockerfiles] = await Promise.all([inspected(TAG), inspected(SERVICE_IMAGE)]);
  expect(made.platform).toBe('linux/arm64');
  expect(made.settings).toEqual(dockerfiles.settings);
});

/** Of the others no plan is made. */
const Planned = z.object({ type: z.literal('fleetgc.node.inventory'), status: z.literal('complete') });

/** Runs our program in a container of the image, by an emulator that is laid into it. */
async function emulated(
  mounts: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<string> {
  const emulator = await ensureArm64Emulator();
  const volumes = Object.entries({ [emulator]: '/emulator', ...mounts }).flatMap(([from, to]) => [
    '--volume',
    `${from}:${to}:ro`,
  ]);
  const program = ['/usr/local/bin/node', '/opt/fleetgc/dist/cli.mjs'];
  const { stdout } = await run(
    'docker',
    [
      'run',
      '--rm',
      '--network',
      'none',
      '--platform',
      'linux/arm64',
      ...volumes,
      '--entrypoint',
      '/emulator',
      TAG,
      ...program,
      ...args,
    ],
    { usualMs: DOCKER_MS },
  );
  return stdout;
}

test(
  'emulated, it runs, has the deciders of this release, and decides to the byte as on this machine',
  async () => {
    const version = z.object({ platform: z.string(), deciders: z.array(z.unknown()).min(6) });
    const there = version.parse(JSON.parse(await emulated({}, 'version', '-o', 'json')));
    const here = version.parse(JSON.parse((await inProcess(['version', '-o', 'json'])).stdout));
    expect(there.platform).toBe('linux-arm64');
    expect(there.deciders).toEqual(here.deciders);

    const inventories = readCorpus().filter(({ event }) => Planned.safeParse(event).success);
    const file = join(folder, 'inventories.ndjson');
    writeFileSync(file, inventories.map(({ event }) => `${JSON.stringify(event)}\n`).join(''));
    const asked = (path: string) => ['plan', '--inventory', path, '-o', 'ndjson', '--trigger', 'forced'];
    const plans = (await inProcess(asked(file))).stdout;
    expect(plans.trim().split('\n')).toHaveLength(inventories.length);
    expect(plans.match(/"rule"/g)?.length).toBeGreaterThan(100);
    expect(await emulated({ [file]: '/inventories.ndjson' }, ...asked('/inventories.ndjson'))).toBe(plans);
  },
  BOUND_MS,
);

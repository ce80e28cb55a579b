import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { S3Place } from '../../packages/archive/store.ts';
import { freePort } from './container.ts';
import { builtVersitygw } from './toolchain/versitygw.ts';
import { waitUntil } from './wait-until.ts';

const READY_MS = 10_000;
export const BUCKET = 'audit';
export const REGION = 'eu-central-1';

/** Who may do what there. */
export interface Login {
  readonly AWS_ACCESS_KEY_ID: string;
  readonly AWS_SECRET_ACCESS_KEY: string;
}
const OWNER: Login = { AWS_ACCESS_KEY_ID: 'owner', AWS_SECRET_ACCESS_KEY: 'owners-secret' };

/** A real server of S3 on loopback, with one bucket. */
export interface ObjectStorage extends AsyncDisposable {
  readonly port: number;
  readonly endpoint: string;
  /** Where it keeps the objects, each in a file of its name. */
  readonly directory: string;
  readonly owner: Login;
  readonly client: S3Client;
  /** A place for one archive; `endpoint` may be that of somebody in between. */
  newPlace(endpoint?: string): S3Place;
  /** The names below a place. */
  names(place: S3Place): Promise<readonly string[]>;
  read(place: S3Place, name: string): Promise<Buffer>;
  write(place: S3Place, name: string, content: Buffer): Promise<void>;
  remove(place: S3Place, name: string): Promise<void>;
  /** Somebody whom the policies of buckets let do things. */
  addUser(login: Login): Promise<void>;
}

export async function startObjectStorage(): Promise<ObjectStorage> {
  const root = mkdtempSync(join(tmpdir(), 'fleetgc-test-s3-'));
  const directory = join(root, 'objects');
  for (const folder of ['objects', 'users']) mkdirSync(join(root, folder));
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const program = await builtVersitygw();
  const common = ['--port', `127.0.0.1:${port}`, '--region', REGION, '--iam-dir', join(root, 'users')];
  const child = spawn(program, [...common, '--quiet', 'posix', directory], {
    env: { ROOT_ACCESS_KEY: OWNER.AWS_ACCESS_KEY_ID, ROOT_SECRET_KEY: OWNER.AWS_SECRET_ACCESS_KEY },
    stdio: 'ignore',
  });
  const client = new S3Client({
    endpoint,
    region: REGION,
    forcePathStyle: true,
    credentials: {
      accessKeyId: OWNER.AWS_ACCESS_KEY_ID,
      secretAccessKey: OWNER.AWS_SECRET_ACCESS_KEY,
    },
  });
  await waitUntil('versitygw to take a bucket', READY_MS, async () => {
    await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
    return true;
  });
  let places = 0;
  const storage: ObjectStorage = {
    port,
    endpoint,
    directory,
    owner: OWNER,
    client,
    newPlace: (over = endpoint) => {
      places += 1;
      return placeAt(over, `fleets/archive-${places}/`);
    },
    ...objectsOf(client),
    addUser: async (login) => {
      await admin(program, endpoint, [
        'create-user',
        '-a',
        login.AWS_ACCESS_KEY_ID,
        '-s',
        login.AWS_SECRET_ACCESS_KEY,
        '-r',
        'user',
      ]);
    },
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      child.kill('SIGKILL');
      await ended(child);
      rmSync(root, { recursive: true, force: true });
    },
  };
  return storage;
}

const placeAt = (endpoint: string, prefix: string): S3Place => ({
  bucket: BUCKET,
  prefix,
  endpoint,
  region: REGION,
  pathStyle: true,
  encryption: null,
  caPem: null,
});

function objectsOf(client: S3Client): Pick<ObjectStorage, 'names' | 'read' | 'write' | 'remove'> {
  const where = ({ bucket, prefix }: S3Place, name: string) => ({ Bucket: bucket, Key: `${prefix}${name}` });
  return {
    names: async ({ bucket: Bucket, prefix }) => {
      const names: string[] = [];
      let ContinuationToken: string | undefined;
      do {
        const page = await client.send(
          new ListObjectsV2Command({ Bucket, Prefix: prefix, ContinuationToken }),
        );
        for (const { Key = '' } of page.Contents ?? [])
          if (!Key.endsWith('/')) names.push(Key.slice(prefix.length));
        ContinuationToken = page.NextContinuationToken;
      } while (ContinuationToken !== undefined);
      return names.toSorted();
    },
    read: async (place, name) => {
      const { Body } = await client.send(new GetObjectCommand(where(place, name)));
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    },
    write: async (place, name, Body) => {
      await client.send(new PutObjectCommand({ ...where(place, name), Body }));
    },
    remove: async (place, name) => {
      await client.send(new DeleteObjectCommand(where(place, name)));
    },
  };
}

async function admin(program: string, endpoint: string, args: readonly string[]): Promise<void> {
  const login = ['--access', OWNER.AWS_ACCESS_KEY_ID, '--secret', OWNER.AWS_SECRET_ACCESS_KEY];
  const child = spawn(program, ['admin', ...login, '--endpoint-url', endpoint, '--region', REGION, ...args]);
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`versitygw admin ${args[0]}: ${said}`);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

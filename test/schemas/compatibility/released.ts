import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { z } from 'zod';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { FILES_OF_THE_LOG, generateJsonSchemas } from '../../../schemas/generate.ts';
import { generateDocuments, VERSION } from '../../../schemas/write.ts';
import { REPOSITORY } from '../../deploy/files.ts';
import type { JsonSchema } from './incompatibilities.ts';
import { type Message, messageOf, recordedMessages } from './messages.ts';

/** A folder for each release, laid out as `schemas/` is: the document, and the schemas that it refers to. */
const RELEASED = join(REPOSITORY, 'schemas/released');
const ASYNCAPI = 'asyncapi.json';
const MESSAGES = join(import.meta.dirname, 'messages');
const messagesFile = (version: string): string => join(MESSAGES, `${version}.json.zst`);

export interface Release {
  readonly version: string;
  readonly schemas: ReadonlyMap<string, JsonSchema>;
  readonly channels: Channels;
  readonly messages: readonly Message[];
}

const Channel = z.object({
  address: z.string(),
  bindings: z.object({
    kafka: z.object({
      partitions: z.number(),
      topicConfiguration: z.object({ 'cleanup.policy': z.array(z.string()) }),
    }),
  }),
});
const Document = z.object({ channels: z.record(z.string(), Channel) });
export type Channels = z.infer<typeof Document>['channels'];

export const channelsOf = (document: string): Channels => Document.parse(JSON.parse(document)).channels;
export const currentChannels = (): Channels =>
  channelsOf(generateDocuments().get(`schemas/${ASYNCAPI}`) ?? '');

const TopicId = z.custom<keyof typeof TOPICS>((id) => typeof id === 'string' && id in TOPICS);
const Recorded = z.array(z.object({ topic: TopicId, event: z.unknown() }));

export const releases = (): readonly Release[] => readdirSync(RELEASED).toSorted().map(readRelease);

function readRelease(version: string): Release {
  const folder = join(RELEASED, version);
  const generated = join(folder, 'generated');
  const recorded = Recorded.parse(
    JSON.parse(zstdDecompressSync(readFileSync(messagesFile(version))).toString('utf8')),
  );
  return {
    version,
    schemas: new Map(
      readdirSync(generated).map((file) => [file, JSON.parse(readFileSync(join(generated, file), 'utf8'))]),
    ),
    channels: channelsOf(readFileSync(join(folder, ASYNCAPI), 'utf8')),
    messages: recorded.map(({ topic, event }) => messageOf(topic, event)).filter((each) => each !== null),
  };
}

/** Of each kind, the same ones each time; more show nothing new. */
const MOST_OF_A_KIND = 12;

/** Keeps what this version says, for ever once it is out. Until then it may be kept anew: nobody builds on it yet. */
function keepRelease(version: string): void {
  const folder = join(RELEASED, version);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'generated'), { recursive: true });
  const schemas = generateJsonSchemas();
  for (const file of FILES_OF_THE_LOG)
    writeFileSync(join(folder, 'generated', file), schemas.get(file) ?? '');
  writeFileSync(join(folder, ASYNCAPI), generateDocuments().get(`schemas/${ASYNCAPI}`) ?? '');

  if (!existsSync(MESSAGES)) mkdirSync(MESSAGES);
  const byKind = Map.groupBy(recordedMessages(), ({ topic, type }) => `${topic} ${type}`);
  const kept = [...byKind.values()].flatMap((messages) => messages.slice(0, MOST_OF_A_KIND));
  const lines = kept.map(({ topic, event }) => JSON.stringify({ topic, event }));
  writeFileSync(messagesFile(version), zstdCompressSync(`[${lines.join(',\n')}]\n`));
}

if (import.meta.main) keepRelease(VERSION);

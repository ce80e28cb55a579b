import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromFile, Parser } from '@asyncapi/parser';
import { expect, test } from 'vitest';
import { topicConfig } from '../../packages/log/kafka/topics.ts';
import { eventTypesOf } from '../../schemas/asyncapi/document.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { TOPIC_IDS } from '../../schemas/exchange/topics.ts';
import { REPOSITORY } from '../deploy/files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** As the parser counts them. */
const ERROR = 0;
const WARNING = 1;

const parsed = async (file: string) => {
  const { document, diagnostics } = await fromFile(new Parser(), file).parse();
  const faults = diagnostics.filter(({ severity }) => severity === ERROR || severity === WARNING);
  return { document, faults: faults.map(({ path, message }) => `${path.join('/')}: ${message}`) };
};

test('the official parser finds no fault with the document, and reads what the tables say', async () => {
  const { document, faults } = await parsed(join(REPOSITORY, 'schemas/asyncapi.json'));
  expect(faults).toEqual([]);

  for (const id of TOPIC_IDS) {
    const channel = document?.channels().get(id);
    expect(channel?.address()).toBe(TOPICS[id].name);
    expect(
      channel
        ?.messages()
        .all()
        .map((message) => message.name()),
    ).toEqual(eventTypesOf(id));
    for (const message of channel?.messages().all() ?? []) {
      const type = message.name()?.replace(/\.v\d+$/, '');
      expect(JSON.stringify(message.payload()?.json()), type).toContain(`"const":"${type}"`);
      expect(JSON.stringify(message.headers()?.json()), type).toContain('"title":"envelope-headers"');
    }
  }
}, 120_000);

test('each topic is described with the settings that it is created with', () => {
  const { channels } = JSON.parse(readFileSync(join(REPOSITORY, 'schemas/asyncapi.json'), 'utf8'));
  const options = { replicationFactor: 1 } as Parameters<typeof topicConfig>[1];
  for (const id of TOPIC_IDS) {
    const { partitions, topicConfiguration } = channels[id].bindings.kafka;
    const { 'cleanup.policy': policies, ...numbers } = topicConfiguration;
    const told = { 'cleanup.policy': policies.join(','), ...mapValues(numbers) };
    expect(partitions).toBe(TOPICS[id].partitions);
    expect(topicConfig(TOPICS[id].name, options)).toMatchObject(told);
  }
});

const mapValues = (values: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));

test('a message whose schema is not there, and an operation on a channel that is not, are found', async () => {
  const folder = temporaryDirectory();
  cpSync(join(REPOSITORY, 'schemas/generated'), join(folder, 'generated'), { recursive: true });
  rmSync(join(folder, 'generated/fleetgc.node.command.v1.schema.json'));
  const document = JSON.parse(readFileSync(join(REPOSITORY, 'schemas/asyncapi.json'), 'utf8'));
  document.operations['pressure.send.observe'].channel.$ref = '#/channels/nowhere';
  writeFileSync(join(folder, 'asyncapi.json'), JSON.stringify(document));

  const { faults } = await parsed(join(folder, 'asyncapi.json'));
  expect(faults.join('\n')).toMatch(/fleetgc\.node\.command\.v1/);
  expect(faults.join('\n')).toMatch(/operations\/pressure\.send\.observe\/channel/);
}, 120_000);
